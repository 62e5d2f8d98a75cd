import { generateEvents } from '@tailrace/events';
import { type ForeignRecord, produceForeign } from '@tailrace/kafka-kit/testing';
import { auditLake, type LakeRecord } from '@tailrace/lake';
import { jsonText, mutated, oddValues } from '@tailrace/lake/testing';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { Bench } from './testing/real-servers.ts';

const RECORDS = 100_000;
const FOREIGN = 2_000;
const AT_ONCE = 5_000;
const SAMPLES = 1_000;
const SEED = Date.now() % 1_000_000;

const HEADERS: readonly LakeRecord['headers'][] = [
  [],
  [
    ['event.type', Buffer.from('service-event')],
    ['event.version', Buffer.from('1.0')],
  ],
  [
    ['event.type', Buffer.from('something-else')],
    ['event.version', Buffer.from('7.0')],
  ],
  [
    ['x', Buffer.from([0, 255, 10, 9])],
    ['x', Buffer.from('again')],
    ['x', Buffer.alloc(0)],
  ],
  [['', Buffer.from('a name of no letters')]],
  [['__proto__', Buffer.from('{"é": "\u{1f600}"}')]],
];
const KEYS: readonly (Buffer | null)[] = [null, Buffer.from('cust_1'), Buffer.from([0, 9, 10, 255]), Buffer.from('kündin \u{1f600}')];

/** Values that no parser likes, JSON as services might write it, the same damaged, and ordinary events in several orders of their fields. */
function* values(): Generator<Buffer | null, never> {
  const small = oddValues.map(({ value }) => (value === null ? null : Buffer.from(value))).filter((value) => (value?.length ?? 0) < 20_000);
  const json = fc.sample(jsonText, { seed: SEED, numRuns: SAMPLES }).map((text) => Buffer.from(text));
  const damaged = fc.sample(mutated(jsonText), { seed: SEED, numRuns: SAMPLES });
  const events = generateEvents({ seed: SEED, nowMs: Date.now });
  for (let i = 0; ; i++) {
    yield small[i % small.length] ?? null;
    yield json[i % SAMPLES] ?? null;
    yield damaged[i % SAMPLES] ?? null;
    for (let k = 0; k < 7; k++) {
      const entries = Object.entries(events.next().value);
      yield Buffer.from(JSON.stringify(Object.fromEntries(k % 2 === 0 ? entries : entries.reverse())));
    }
  }
}

function same(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

function isSame(a: LakeRecord, b: LakeRecord): boolean {
  const headers =
    a.headers.length === b.headers.length &&
    a.headers.every(([name, value], i) => name === b.headers[i]?.[0] && same(value, b.headers[i]?.[1] ?? null));
  return a.offset === b.offset && a.timestampMs === b.timestampMs && same(a.key, b.key) && same(a.value, b.value) && headers;
}

it(`${RECORDS} records of every odd kind come back byte for byte: key, value, headers, time and coordinates (seed ${SEED})`, async () => {
  const bench = await Bench.open();
  try {
    const source = values();
    const sent: [(Buffer | null)[], (Buffer | null)[]] = [[], []];
    const archiver = await bench.archiver('a');
    for (let i = 0; i < RECORDS - FOREIGN; i += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, RECORDS - FOREIGN - i) }, (_, k) => {
        let value = source.next().value;
        // The native client writes a tombstone for it: the other client below writes empty ones.
        if (value?.length === 0) value = Buffer.from(' ');
        const partition = k % 2;
        sent[partition === 0 ? 0 : 1].push(value);
        return { partition, key: KEYS[k % KEYS.length] ?? null, value, headers: HEADERS[k % HEADERS.length] ?? [] };
      });
      await bench.publish(batch);
    }
    const foreign = Array.from({ length: FOREIGN }, (_, k): ForeignRecord => {
      const value = k % 3 === 0 ? Buffer.alloc(0) : k % 3 === 1 ? null : source.next().value;
      sent[k % 2 === 0 ? 0 : 1].push(value);
      const headers = new Map([[Buffer.from('empty'), Buffer.alloc(0)]]);
      return { partition: k % 2, key: k % 5 === 0 ? Buffer.alloc(0) : null, value, headers };
    });
    await produceForeign({ ...bench.config.kafka, clientId: 'archiver-test' }, bench.topic, foreign);
    const rows = async () => (await auditLake(bench.ledger)).partitions.reduce((sum, each) => sum + each.rows, 0);
    await vi.waitFor(async () => expect(await rows()).toBe(RECORDS), { timeout: 120_000, interval: 500 });
    await archiver.stop();
    for (const chain of await bench.chains()) {
      const wanted = sent[chain.partition === 0 ? 0 : 1];
      const kafka = await bench.inKafka(chain, 0, wanted.length);
      const lake = await bench.inLake(chain);
      expect([kafka.length, lake.length]).toEqual([wanted.length, wanted.length]);
      // One by one: a comparison of all at once is slow, and its difference could not be read.
      for (const [i, record] of lake.entries()) {
        if (!same(record.value, wanted[i] ?? null))
          expect(record.value, `offset ${i} of ${chain.partition} against what was sent`).toEqual(wanted[i]);
        const logged = kafka[i];
        if (logged === undefined || !isSame(record, logged))
          expect(record, `offset ${i} of ${chain.partition} against Kafka`).toEqual(logged);
      }
    }
    expect((await auditLake(bench.ledger)).findings).toEqual([]);
  } finally {
    await bench.close();
  }
}, 240_000);
