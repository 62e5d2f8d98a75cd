import { expect, test } from 'vitest';
import { DeciderBench } from '../testing/decider-bench.ts';
import type { StateRecord } from './alert-state.ts';
import { decodeState, encodeState, StateTable } from './state-codec.ts';

/** What a decide stage writes: a whole alert among it. */
function written(): StateRecord[] {
  const bench = new DeciderBench();
  bench.mark(0);
  bench.count(1, 6);
  bench.tick();
  const silence = { id: 's-1', rule: 'r', fromMs: 1, untilMs: 2, comment: '' };
  return [
    ...bench.states,
    { kind: 'silence', silence, epoch: 3 },
    { kind: 'partition', partition: 0, watermarkMs: null, epoch: 3, owner: 'o' },
  ];
}

/** Every value with one of its fields, however deep, taken out or of another kind. */
function* spoilt(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    const withField = (other: unknown) =>
      Array.isArray(value) ? value.map((each, at) => (String(at) === name ? other : each)) : { ...value, [name]: other };
    yield withField(true);
    for (const each of spoilt(field)) yield withField(each);
  }
}

test('what is written is read as it was', () => {
  for (const record of written()) expect(decodeState(encodeState(record))).toEqual(record);
});

test('no odd record of alert-state is handed on: a silence without one, transitions that are empty, any field of another kind', () => {
  for (const odd of ['{"kind":"silence","epoch":1}', '{"kind":"alert","epoch":1,"transitions":[{}]}', '[]', 'null', '7', '{"kind":7}'])
    expect(decodeState(Buffer.from(odd)), odd).toBeUndefined();
  let tried = 0;
  for (const record of written()) {
    for (const odd of spoilt(record)) {
      const table = new StateTable();
      table.take(Buffer.from('k'), Buffer.from(JSON.stringify(odd)));
      expect([table.records, table.unreadable], JSON.stringify(odd)).toEqual([[], 1]);
      tried += 1;
    }
  }
  expect(tried).toBeGreaterThan(40);
});

test('a time that no date holds is not taken: telling of it would throw', () => {
  const [alert] = written();
  expect(decodeState(Buffer.from(JSON.stringify({ ...alert, episodeMs: 1e300 })))).toBeUndefined();
  expect(decodeState(Buffer.from(JSON.stringify(alert).replace(/"episodeMs":\d+/, '"episodeMs":1e400')))).toBeUndefined();
});
