import { expect, test } from 'vitest';
import { Coverage } from './coverage.ts';

const RULE = { name: 'few', version: 'v1' };

function coverage() {
  const covers = new Coverage();
  covers.setPartitions([{ topic: 'events', partition: 0 }]);
  const mark = (incarnation: string, ms: number) => {
    const source = { topic: 'events', incarnation, partition: 0 };
    const marks = [{ source, watermarkMs: ms, fromMs: 0, ruleFromMs: new Map(), unread: false, late: 0 }];
    covers.accept({ kind: 'marks', rules: [RULE], marks }, ms, ms);
    return covers.watermarkMs('few@v1');
  };
  return mark;
}

test('a mark of a life that nobody knows does not shut the lane out whose marks go on', () => {
  const mark = coverage();
  expect(mark('real', 1000)).toBe(1000);
  expect(mark('forged', 1500)).toBe(1000);
  expect(mark('real', 2000)).toBe(2000);
});

test('a topic that was made anew goes on where the old one ceased, and marks of that one count no more', () => {
  const mark = coverage();
  expect(mark('old', 1000)).toBe(1000);
  expect(mark('new', 5000)).toBe(1000);
  expect(mark('new', 11_000)).toBe(11_000);
  expect(mark('old', 11_500)).toBe(11_000);
  expect(mark('new', 12_000)).toBe(12_000);
});
