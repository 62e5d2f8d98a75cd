import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { Published } from '@tailrace/kafka-kit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteBudget } from './admission/budget.ts';
import { ingest, type Post } from './ingest.ts';
import { placesInJson } from './intake/json-elements.ts';
import { createGatewayMetrics } from './metrics.ts';
import { FakePublisher } from './testing/fake-publisher.ts';
import { event, gatewayParts } from './testing/gateway.ts';

const RUNS = { numRuns: 400, verbose: 1 } as const;

/** A post that arrives in pieces of `pieceBytes`. */
function postOf(body: Buffer, headers: Record<string, string>, pieceBytes: number): Post {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += pieceBytes) pieces.push(body.subarray(at, at + pieceBytes));
  return Object.assign(Readable.from(pieces, { objectMode: false }), { headers });
}

/** Posts to an intake without HTTP around it; every piece of state is fresh but the metrics. */
function intakeUnderTest() {
  const parts = gatewayParts({ GATEWAY_MAX_EVENT_BYTES: '1024', GATEWAY_MAX_BODY_BYTES: '65536' });
  const budget = new ByteBudget(parts.options.config.maxInFlightBytes);
  const metrics = createGatewayMetrics(parts.metrics, () => budget.usedBytes);
  return {
    budget,
    logged: parts.logged,
    async post(body: Buffer, headers: Record<string, string>, publisher: FakePublisher, pieceBytes = 1000) {
      const options = { ...parts.options, ...parts.options.config, publisher, budget, metrics };
      return ingest(postOf(body, headers, pieceBytes), options);
    },
  };
}

const valid = fc
  .record({ customer_id: fc.option(fc.string({ minLength: 1, maxLength: 9 })), message: fc.string({ unit: 'binary' }), n: fc.double() })
  .map((more) => event(more));
const invalid = fc.oneof(
  fc.constantFrom('{}', 'null', '[]', '0', '"', '{"timestamp":', '\\', '{"timestamp":"2026-02-30T00:00:00Z","service":"a"}', '}{', '],['),
  fc.json().map((text) => text.replaceAll(/[\r\n]/g, ' ')),
  fc.constant(event({ message: 'x'.repeat(2000) })),
);
const line = fc.oneof(
  { weight: 3, arbitrary: valid.map((text) => ({ text, ok: true })) },
  invalid.map((text) => ({ text, ok: false })),
);
const fate: fc.Arbitrary<Published> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ kind: 'acknowledged' } as const) },
  fc.constantFrom<Published[]>({ kind: 'refused', reason: 'r' }, { kind: 'withdrawn', reason: 'w' }, { kind: 'unknown', reason: 'u' }),
);
const ends = fc.constantFrom('\n', '\r\n', '\n\n', ' \t\r\n');

test('lines are never lost nor doubled: the counts add up and each valid line is published once, in order, byte for byte', async () => {
  const { post, budget, logged } = intakeUnderTest();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(line, ends), { minLength: 1, maxLength: 40 }),
      fc.infiniteStream(fate),
      fc.boolean(),
      fc.integer({ min: 1, max: 5000 }),
      async (lines, fates, packed, pieceBytes) => {
        const publisher = new FakePublisher();
        const offered: string[] = [];
        const kinds: string[] = [];
        publisher.fateOf = (record) => {
          offered.push(record.value?.toString() ?? '');
          const told = fates.next().value;
          kinds.push(told.kind);
          return told;
        };
        const body = Buffer.from(lines.map(([{ text }, end]) => text + end).join(''));
        const headers = { 'content-type': 'application/x-ndjson', ...(packed ? { 'content-encoding': 'gzip' } : {}) };
        const answered = await post(packed ? gzipSync(body) : body, headers, publisher, pieceBytes);
        const wanted = lines.filter(([{ ok }]) => ok).map(([{ text }]) => text);
        expect(offered).toEqual(wanted);
        const count = (kind: string) => kinds.filter((told) => told === kind).length;
        const { accepted = 0, rejected = 0, withdrawn = 0, unknown = 0, errors = [], errors_omitted = 0 } = answered?.body ?? {};
        expect(accepted).toBe(count('acknowledged'));
        expect([withdrawn, unknown]).toEqual([count('withdrawn'), count('unknown')]);
        expect(accepted + rejected + withdrawn + unknown).toBe(lines.length);
        expect(errors.length + errors_omitted).toBe(rejected);
        expect(new Set(errors.map((error) => error.line)).size).toBe(errors.length);
        expect(answered?.status === 200).toBe(accepted === lines.length);
      },
    ),
    RUNS,
  );
  expect(budget.usedBytes).toBe(0);
  // Fates that make a 503 are told; a fault of the gateway itself is not among them.
  expect(logged.filter((line) => !line.includes('"answer":"deadline_passed"'))).toEqual([]);
});

test('an array of any values, spaced in any way, is the same as its elements', async () => {
  const { post, logged } = intakeUnderTest();
  const space = fc.constantFrom('', ' ', '\n', '\r\n\t');
  const wellFormed = fc.oneof(
    valid.map((text) => ({ text, ok: true })),
    fc.json().map((text) => ({ text, ok: false })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(space, wellFormed, space), { minLength: 1, maxLength: 30 }), async (elements) => {
      const publisher = new FakePublisher();
      const body = `[${elements.map(([before, { text }, after]) => before + text + after).join(',')}]`;
      const answered = await post(Buffer.from(body), { 'content-type': 'application/json' }, publisher);
      expect(publisher.published.map(({ value }) => value?.toString())).toEqual(
        elements.filter(([, { ok }]) => ok).map(([, { text }]) => text),
      );
      expect((answered?.body.accepted ?? 0) + (answered?.body.rejected ?? 0)).toBe(elements.length);
    }),
    RUNS,
  );
  expect(logged).toEqual([]);
});

test('the places in a JSON array are exactly its elements; what JSON.parse takes for an array is never refused', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom('', ' \n'), (json, space) => {
      const found = placesInJson(Buffer.from(space + json + space), 1000);
      if (!('places' in found)) throw new Error(`refused: ${found.fault}`);
      const body = Buffer.from(space + json + space);
      const parsed = found.places.map(({ start, end }) => JSON.parse(body.subarray(start, end).toString()));
      const whole = JSON.parse(json);
      expect(parsed).toEqual(Array.isArray(whole) ? whole : [whole]);
    }),
    RUNS,
  );
});

test('hostile bytes never give 500, never an error of the gateway itself, and nothing that is not a valid event', async () => {
  const { post, budget, logged } = intakeUnderTest();
  const tokens = fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '\\', '\n', ' ', '1', 'null', '\u0000', '\ufeff', '{"a":1}', event());
  const soup = fc.array(tokens, { maxLength: 60 }).map((parts) => Buffer.from(parts.join('')));
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
  const header = (...values: string[]) => fc.option(fc.oneof(fc.constantFrom(...values), fc.string()), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        soup,
        bytes,
        soup.map((body) => Buffer.concat([Buffer.from('['), body, Buffer.from(']')])),
        bytes.map((body) => gzipSync(body)),
      ),
      header('application/json', 'application/x-ndjson', 'text/plain', 'application/x-www-form-urlencoded'),
      header('gzip', 'identity', 'br'),
      header('5', '-1', 'NaN', '99999999999'),
      async (body, type, coding, length) => {
        const publisher = new FakePublisher();
        const headers = Object.entries({ 'content-type': type, 'content-encoding': coding, 'content-length': length });
        const answered = await post(
          body,
          Object.fromEntries(headers.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
          publisher,
        );
        expect([200, 207, 400, 413, 415, 429]).toContain(answered?.status);
        expect(publisher.published).toHaveLength(answered?.body.accepted ?? 0);
        expect(publisher.published.every(({ value }) => value?.toString() === event())).toBe(true);
      },
    ),
    { ...RUNS, numRuns: 2000 },
  );
  expect(budget.usedBytes).toBe(0);
  expect(logged).toEqual([]);
});

test.each(['0,', '{},', '[],', '"",', '\n', '[', '{"a":', '"\\'])(
  '8 MiB of %j are refused in under a second of CPU and without building anything of them',
  async (unit) => {
    const parts = gatewayParts();
    const budget = new ByteBudget(parts.options.config.maxInFlightBytes);
    const options = {
      ...parts.options,
      ...parts.options.config,
      budget,
      metrics: createGatewayMetrics(parts.metrics, () => budget.usedBytes),
      publisher: new FakePublisher(),
    };
    const body = Buffer.concat([Buffer.from('['), Buffer.alloc(8 * 1024 * 1024 - 2, unit), Buffer.from(']')]);
    for (const type of ['application/json', 'text/plain', 'application/x-ndjson']) {
      const begun = process.cpuUsage();
      const answered = await ingest(postOf(body, { 'content-type': type }, 65_536), options);
      expect([400, 413]).toContain(answered?.status);
      const { user, system } = process.cpuUsage(begun);
      // By the clock it would be the machine's load that is tested.
      expect((user + system) / 1000).toBeLessThan(1000);
    }
  },
);
