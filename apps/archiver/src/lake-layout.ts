import type { LakeLayout } from '@tailrace/lake';
import type { S3Config } from '@tailrace/service';

/** The stream that is archived; the lake's folder bears its name. */
export const STREAM = 'service-events';

export function lakeLayout(s3: Pick<S3Config, 'prefix'>): LakeLayout {
  return { prefix: s3.prefix, stream: STREAM };
}
