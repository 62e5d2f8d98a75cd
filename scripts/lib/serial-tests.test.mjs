import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { SERIAL_TESTS } from './serial-tests.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What only one test at a time can use: the topic that all services share, and the settings of the whole OpenSearch. */
const SHARED = /\bSERVICE_EVENTS_TOPIC\b|\/_cluster\/settings/;

const files = ['apps', 'packages'].flatMap((kind) =>
  readdirSync(join(ROOT, kind)).flatMap((name) =>
    readdirSync(join(ROOT, kind, name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.integration.test.ts'))
      .map((file) => `${kind}/${name}/src/${file}`),
  ),
);
const isSerial = (/** @type {string} */ file) => SERIAL_TESTS.some((each) => file.startsWith(each));

test('every integration test that uses what all of them share runs one after another', () => {
  const shared = files.filter((file) => SHARED.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(shared.length).toBeGreaterThanOrEqual(4);
  expect(shared.filter((file) => !isSerial(file))).toEqual([]);
});

test('no entry of the lists is in vain', () => {
  expect(SERIAL_TESTS.filter((each) => !files.some((file) => file.startsWith(each)))).toEqual([]);
});
