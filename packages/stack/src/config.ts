/** Where the servers of a pipeline answer. The services read the same names: what a stack hands to its children is what a person sets by hand. */
export interface Endpoints {
  /** `host:port`, several separated by commas. */
  readonly kafkaBootstrapServers: string;
  readonly opensearchUrl: string;
  readonly s3: {
    readonly endpointUrl: string;
    readonly region: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    /** The bucket that holds the lake; it exists. */
    readonly bucket: string;
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment variables that name these endpoints, as the services and the AWS tools read them. */
export function environmentOf(endpoints: Endpoints): Record<string, string> {
  return {
    KAFKA_BOOTSTRAP_SERVERS: endpoints.kafkaBootstrapServers,
    OPENSEARCH_URL: endpoints.opensearchUrl,
    AWS_ENDPOINT_URL_S3: endpoints.s3.endpointUrl,
    AWS_REGION: endpoints.s3.region,
    AWS_ACCESS_KEY_ID: endpoints.s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: endpoints.s3.secretAccessKey,
    TAILRACE_LAKE_BUCKET: endpoints.s3.bucket,
  };
}

/**
 * The endpoints that the environment names, for tests against real servers.
 * @throws Error with one sentence that names every variable that is missing.
 */
export function endpointsFromEnvironment(environment: Environment = process.env): Endpoints {
  const missing: string[] = [];
  const read = (name: string): string => {
    const value = environment[name];
    if (value === undefined || value === '') missing.push(name);
    return value ?? '';
  };
  const endpoints: Endpoints = {
    kafkaBootstrapServers: read('KAFKA_BOOTSTRAP_SERVERS'),
    opensearchUrl: read('OPENSEARCH_URL'),
    s3: {
      endpointUrl: read('AWS_ENDPOINT_URL_S3'),
      region: read('AWS_REGION'),
      accessKeyId: read('AWS_ACCESS_KEY_ID'),
      secretAccessKey: read('AWS_SECRET_ACCESS_KEY'),
      bucket: read('TAILRACE_LAKE_BUCKET'),
    },
  };
  if (missing.length > 0) {
    throw new Error(
      `The environment does not name the servers (${missing.join(', ')} not set): run npm test, ` +
        'or put the command behind `node packages/stack/dist/cli.js --`, which starts servers for it.',
    );
  }
  return endpoints;
}

/** The environment of this process, for what decides which Java and which OpenSearch are used and where caches lie. */
export function processEnvironment(): Environment {
  return process.env;
}

/** The SDK announces at each start that Node 20 will not be served for ever; here that is noise beside the lines that matter. */
export function quietAwsSdk(): void {
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
}
