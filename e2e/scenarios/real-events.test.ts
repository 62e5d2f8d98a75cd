import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { comeBack } from '../src/proof/come-back.ts';
import { report } from '../src/report.ts';
import { ROOT } from '../src/root.ts';

const FILE = join(ROOT, '../shared/data/access-10k.ndjson');

const given = existsSync(FILE);
if (!given) report(`real events: skipped, since ${FILE} is not there`);

test.skipIf(!given || scenarioConfig.short)('10,000 real events come back from the lake byte for byte', async () => {
  const lines = readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const { objects, bytes } = await comeBack(FILE, lines);
  report(`real events: ${lines.length} rows in ${objects} objects, ${(bytes / lines.length).toFixed(1)} bytes an event in the lake`);
});
