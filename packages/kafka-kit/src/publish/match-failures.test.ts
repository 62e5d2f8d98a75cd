import { expect, it } from 'vitest';
import type { FailedRecord } from '../broker/broker-producer.ts';
import type { OutgoingRecord } from './contract.ts';
import { matchFailures } from './match-failures.ts';

const entry = (key: string | null, value: string | null, more: Partial<OutgoingRecord> = {}) => ({
  record: { topic: 't', key: key === null ? null : Buffer.from(key), value: value === null ? null : Buffer.from(value), ...more },
});
const failure = ({ record: { topic, key, value } }: { record: OutgoingRecord }): FailedRecord => ({
  topic,
  key,
  value,
  reason: 'no',
  certain: true,
  own: true,
});
const certain = { certain: true, own: true };
const unknown = { reason: 'no', certain: false, own: false };

it('a failure belongs to the record with its bytes', () => {
  const group = [entry('a', '1'), entry('a', '2'), entry(null, '1'), entry('a', null)];
  const [, second, , fourth] = group;
  if (second === undefined || fourth === undefined) throw new Error('no entry');
  const failed = matchFailures(group, [failure(fourth), failure(second)]);
  expect([...failed.keys()]).toEqual([fourth, second]);
  expect(failed.get(second)).toMatchObject(certain);
});

it('of equal records as many fail as failures came', () => {
  const group = [entry('a', '1'), entry('a', '1'), entry('a', '1'), entry('b', '1')];
  const failed = matchFailures(group, [failure(entry('a', '1')), failure(entry('a', '1'))]);
  expect(failed.size).toBe(2);
  expect(group.slice(0, 3).filter((each) => failed.has(each))).toHaveLength(2);
});

it('keys and values that would look the same written one behind the other are told apart', () => {
  const pairs: [ReturnType<typeof entry>, ReturnType<typeof entry>][] = [
    [entry('a\nb', 'c'), entry('a', 'b\nc')],
    [entry(null, 'x'), entry('null', 'x')],
    [entry('k', null), entry('k', 'null')],
    [entry('1:a', ''), entry('1', ':a')],
    [entry('', 'x'), entry(null, 'x')],
  ];
  for (const [one, two] of pairs) {
    expect([...matchFailures([one, two], [failure(one)]).keys()]).toEqual([one]);
    expect([...matchFailures([one, two], [failure(two)]).keys()]).toEqual([two]);
  }
});

it('records of equal bytes that differ in headers or partition are all unknown, unless all of them failed', () => {
  const header = (value: string): Partial<OutgoingRecord> => ({ headers: [['origin.offset', Buffer.from(value)]] });
  const differing = [
    [entry('k', null, header('1')), entry('k', null, header('2'))],
    [entry('k', 'v', { partition: 1 }), entry('k', 'v', { partition: 2 })],
    [entry('k', 'v'), entry('k', 'v', header('1'))],
    [entry('k', 'v', { headers: [['n', null]] }), entry('k', 'v', { headers: [['n', Buffer.alloc(0)]] })],
  ];
  for (const group of differing) {
    const [first] = group;
    if (first === undefined) throw new Error('no entry');
    expect([...matchFailures(group, [failure(first)]).values()]).toEqual([unknown, unknown]);
    expect([...matchFailures(group, [failure(first), failure(first)]).values()]).toEqual([
      expect.objectContaining(certain),
      expect.objectContaining(certain),
    ]);
  }
  const same = [entry('k', 'v', header('1')), entry('k', 'v', header('1'))];
  expect(matchFailures(same, [failure(entry('k', 'v'))]).size).toBe(1);
});

it('a failure of no record, or one too many, leaves all unknown', () => {
  const group = [entry('a', '1'), entry('b', '2')];
  for (const failures of [[failure(entry('z', '1'))], [failure(entry('a', '1')), failure(entry('a', '1'))]]) {
    expect([...matchFailures(group, failures).values()]).toEqual([unknown, unknown]);
  }
});
