import { readdirSync, readFileSync } from 'node:fs';

/** A record as a released version wrote it. Every consumer's tests decode these: a week-old record must always decode. */
export interface GoldenRecord {
  readonly version: string;
  /** What is special about it. */
  readonly about: string;
  readonly key: Buffer | null;
  readonly value: Buffer;
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[];
}

const folder = new URL('../../golden/', import.meta.url);

/** A record as it stands in the committed file: bytes in base64. */
interface Row {
  readonly about: string;
  readonly key: string | null;
  readonly value: string;
  readonly headers: readonly (readonly [string, string | null])[];
}

function decoded(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text, 'base64');
}

/** The released versions, oldest first. */
export function releasedVersions(): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** The text of a committed file of a released version. */
export function goldenFile(version: string, name: 'fields.json' | 'records.ndjson'): string {
  return readFileSync(new URL(`${version}/${name}`, folder), 'utf8');
}

/** The committed records of every released version. */
export function goldenRecords(): GoldenRecord[] {
  return releasedVersions().flatMap((version) =>
    goldenFile(version, 'records.ndjson')
      .trimEnd()
      .split('\n')
      .map((line) => {
        const row = JSON.parse(line) as Row;
        return {
          version,
          about: row.about,
          key: decoded(row.key),
          value: Buffer.from(row.value, 'base64'),
          headers: row.headers.map(([name, value]) => [name, decoded(value)] as const),
        };
      }),
  );
}
