import type { LakeLayout } from './object-names.ts';

/** The stream that is archived; the lake's folder bears its name. */
export const STREAM = 'service-events';

/** Where the lake lies in its bucket, by the settings that every service of it has. */
export function lakeLayout(s3: { readonly prefix: string }): LakeLayout {
  return { prefix: s3.prefix, stream: STREAM };
}
