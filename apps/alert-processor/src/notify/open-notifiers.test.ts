import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@tailrace/kafka-kit';
import { afterAll, expect, test } from 'vitest';
import { notifiersLine, openNotifiers } from './open-notifiers.ts';

const folder = mkdtempSync(join(tmpdir(), 'tailrace-notifiers-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('no file: nobody is told, and that is said', () => {
  expect(notifiersLine(openNotifiers(undefined, {}, systemClock))).toMatch(/^Nobody is told of alerts/);
});

test('secrets stand beside the file, or in the environment', () => {
  const file = join(folder, 'notifiers.yaml');
  writeFileSync(join(folder, 'hook'), 'https://hooks.example.com/x\n');
  writeFileSync(file, 'notifiers:\n- {name: a, kind: slack, url: {file: hook}}\n- {name: b, kind: slack, url: {env: HOOK}}\n');
  expect(notifiersLine(openNotifiers(file, { HOOK: 'https://hooks.example.com/y' }, systemClock))).toBe('Alerts are told through a, b.');
  expect(() => openNotifiers(file, {}, systemClock)).toThrow(`${file}:3:31: Set the environment variable HOOK: it is not set, or empty.`);
  expect(() => openNotifiers(join(folder, 'none'), {}, systemClock)).toThrow('can not be read (ENOENT)');
});

test('a FIFO for the file or for a secret is refused, and not waited for', () => {
  const [file, fifo] = [join(folder, 'fifo.yaml'), join(folder, 'fifo')];
  execFileSync('mkfifo', [fifo]);
  expect(() => openNotifiers(fifo, {}, systemClock)).toThrow('can not be read (it is no regular file)');
  writeFileSync(file, 'notifiers: [{name: a, kind: slack, url: {file: fifo}}]');
  expect(() => openNotifiers(file, {}, systemClock)).toThrow('can not be read (it is no regular file)');
});
