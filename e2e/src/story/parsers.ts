import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The parser of a team that posts events as they are, and one with a bug: a field was renamed, and every event looks like none. */
const MODULES = {
  good: `export function parse({ value }) {
  const { service } = JSON.parse(value.toString());
  return service === undefined ? { kind: 'skipped', reason: 'no-service' } : { kind: 'event', value };
}
`,
  faulty: `export function parse({ value }) {
  const { svc } = JSON.parse(value.toString());
  return svc === undefined ? { kind: 'skipped', reason: 'no-service' } : { kind: 'event', value };
}
`,
} as const;

export type ParserName = keyof typeof MODULES;

/** Writes both modules into the folder. Gives the setting that has an indexer use one. */
export function writeParsers(folder: string): (name: ParserName) => Readonly<Record<string, string>> {
  for (const [name, text] of Object.entries(MODULES)) writeFileSync(join(folder, `${name}.mjs`), text);
  return (name) => ({ INDEXER_PARSER: join(folder, `${name}.mjs`) });
}
