// The bucket that the stack's environment names, as the lake's code takes it.

/** @param {Record<string, string>} environment @param {string} prefix */
export function s3Of(environment, prefix) {
  return {
    endpoint: environment.AWS_ENDPOINT_URL_S3,
    region: environment.AWS_REGION,
    bucket: environment.TAILRACE_LAKE_BUCKET,
    accessKeyId: environment.AWS_ACCESS_KEY_ID,
    secretAccessKey: environment.AWS_SECRET_ACCESS_KEY,
    prefix,
  };
}
