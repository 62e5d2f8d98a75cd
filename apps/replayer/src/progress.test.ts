import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { progressOn } from './progress.ts';

const MIB = 1024 * 1024;

it('without a terminal: a line every five seconds, with the rate of the last ten and what is left by it', () => {
  let nowMs = 0;
  const lines: string[] = [];
  const progress = progressOn({ note: (text) => lines.push(text), nowMs: () => nowMs }, 1000);
  for (let second = 1; second <= 10; second++) {
    nowMs = second * 1000;
    progress.update({ offsets: 20 * second, records: 10 * second, bytes: MIB * second });
  }
  progress.note('Something else.');
  progress.stop();
  expect(lines).toEqual([
    '100 of 1000 offsets read, 50 records sent, 10/s, 1.0 MiB/s, 45 s left.\n',
    '200 of 1000 offsets read, 100 records sent, 10/s, 1.0 MiB/s, 40 s left.\n',
    'Something else.\n',
  ]);
});

it('on a terminal: a bar, and sentences above it', () => {
  const screen = new PassThrough();
  const terminal = Object.assign(screen, { isTTY: true, columns: 100, cursorTo: () => {}, clearLine: () => {} });
  const progress = progressOn({ terminal: terminal as unknown as NodeJS.WriteStream, note: () => {}, nowMs: () => 0 }, 100);
  progress.update({ offsets: 50, records: 7, bytes: 0 });
  progress.note('A live group is late.');
  progress.stop();
  const shown = String(screen.read());
  expect(shown).toContain('50% | 7 records sent');
  expect(shown).toContain('A live group is late.\n');
});
