import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceName } from './pipeline/pipeline.ts';
import { ROOT } from './root.ts';

/** One row of the page that documents the services' settings. */
export interface Setting {
  readonly name: string;
  readonly expected: string;
  readonly mustBeSet: boolean;
  /** Another setting, with a value, that makes this one necessary. */
  readonly neededBy: readonly [name: string, value: string] | undefined;
}

/** The settings of a service, from `docs/reference/configuration.md`, which is generated from the services' own tables. */
export function documentedSettings(service: ServiceName): Setting[] {
  const page = readFileSync(join(ROOT, 'docs/reference/configuration.md'), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith(`${service}\n`)) ?? '';
  return [...section.matchAll(/^\| `([A-Z][A-Z0-9_]*)` \| .* \| (.*) \| (.*) \|$/gm)].map(([, name = '', expected = '', need = '']) => {
    const [, other, value] = /must be set when `([A-Z0-9_]+)` is (\w+)/.exec(need) ?? [];
    return {
      name,
      expected,
      mustBeSet: need === '**must be set**',
      neededBy: other === undefined ? undefined : [other, value === 'set' ? 'something' : (value ?? '')],
    };
  });
}

/** For each form that a setting can have, by the words that describe it, a value that does not have it. */
const WRONG: readonly (readonly [expected: RegExp, wrong: string])[] = [
  [/^a port from 0 to 65535/, '65536'],
  [/^a whole number/, '12 parsecs'],
  [/^one of /, 'nonsense'],
  [/^1 or 0/, 'maybe'],
  [/^host:port/, 'nonsense'],
  [/^a URL/, 'ftp://127.0.0.1'],
  [/^the path of a file/, '/nowhere/ca.pem'],
  [/^letters, digits/, '//'],
  [/^a host name/, 'two words'],
];

/** A value that the setting must refuse. An empty one is as good as none; undefined: any text is right, and none is as well. */
export function wrongValue({ expected, mustBeSet, neededBy }: Setting): string | undefined {
  const wrong = WRONG.find(([form]) => form.test(expected))?.[1];
  if (wrong !== undefined) return wrong;
  return mustBeSet || neededBy !== undefined ? '' : undefined;
}
