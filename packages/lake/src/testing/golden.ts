import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LakeRecord } from '../records.ts';

export interface GoldenFile {
  readonly name: string;
  readonly path: string;
  readonly records: readonly LakeRecord[];
}

interface Row {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: readonly (readonly [string, string | null])[];
}

export function goldenFolder(): string {
  return fileURLToPath(new URL('../../golden', import.meta.url));
}

export function goldenName(fileVersion: number): string {
  return `lake-file-${fileVersion}`;
}

function decoded(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text, 'base64');
}

/** The committed lake file of each released version, with the records that it holds. */
export function goldenFiles(): GoldenFile[] {
  const folder = goldenFolder();
  return readdirSync(folder)
    .filter((name) => name.endsWith('.parquet'))
    .map((file) => {
      const name = file.slice(0, -'.parquet'.length);
      const lines = readFileSync(`${folder}/${name}.ndjson`, 'utf8').trimEnd().split('\n');
      const records = lines.map((line): LakeRecord => {
        const { offset, timestampMs, key, value, headers } = JSON.parse(line) as Row;
        return {
          offset,
          timestampMs,
          key: decoded(key),
          value: decoded(value),
          headers: headers.map(([header, content]) => [header, decoded(content)]),
        };
      });
      return { name, path: `${folder}/${file}`, records };
    });
}
