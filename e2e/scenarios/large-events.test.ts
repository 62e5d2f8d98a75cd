import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { comeBack } from '../src/proof/come-back.ts';
import { report } from '../src/report.ts';

const LARGE = 2000;
const TEXT_BYTES = 30_000;
/** All of one customer: they meet in one partition, and so in one object. */
const HEAD = '"timestamp":"2026-01-31T23:59:59.123Z","customer_id":"cust_large","service":"checkout"';

const names = (count: number, member: (i: number) => string): string => Array.from({ length: count }, (_, i) => member(i)).join(',');
const event = (members: string): string => `{${HEAD},${members}}`;

/** Valid events, below the gateway's limit, that once stopped their partition, or all of them. */
const ODD = [
  event(names(6800, (i) => `"name_of_${i}":${i}`)),
  event(`${names(5000, (i) => `"n${i}":1`)},"n7":2`),
  event(names(30_000, () => '"a":1')),
  event(`"attributes":{"x":[${names(100_000, () => '1')}]}`),
];

test('large and odd events reach the lake with everybody else’s', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tailrace-large-'));
  try {
    const large = Array.from({ length: LARGE }, (_, i) =>
      event(`"message":"${i} ${randomBytes((TEXT_BYTES * 3) / 4).toString('base64')}"`),
    );
    const lines = [...large.slice(0, LARGE / 2), ...ODD, ...large.slice(LARGE / 2)];
    const file = join(folder, 'events.ndjson');
    writeFileSync(file, `${lines.join('\n')}\n`);
    const { objects } = await comeBack(file, lines);
    expect(objects).toBeGreaterThan(0);
    report(`large events: ${lines.length} rows of ${TEXT_BYTES} bytes and more in ${objects} objects`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
