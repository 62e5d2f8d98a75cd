import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StandsStill } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadParser, type Parsed, type Parser, parsed } from './parser.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tailrace-parser-'));
});
afterAll(() => rm(folder, { recursive: true }));

const RECORD = { key: null, value: Buffer.from('a=1'), headers: [] };

async function moduleOf(text: string): Promise<string> {
  const path = join(folder, `${Math.random()}.mjs`);
  await writeFile(path, text);
  return path;
}

it('loads a module and takes each of its three answers', async () => {
  const path = await moduleOf(`export function parse({ value }) {
    const [name, text] = value.toString().split('=');
    if (name === 'skip') return { kind: 'skipped', reason: 'not-ours' };
    if (name === 'bad') return { kind: 'dead', reason: 'bad-line', detail: text };
    return { kind: 'event', value: JSON.stringify({ service: name, bytes: Number(text) }) };
  }`);
  const parser = await loadParser(path);
  const of = (text: string) => parsed(parser, { ...RECORD, value: Buffer.from(text) });
  expect(of('a=1')).toEqual({ kind: 'event', value: Buffer.from('{"service":"a","bytes":1}') });
  expect(of('skip=1')).toEqual({ kind: 'skipped', reason: 'not-ours' });
  expect(of('bad=why')).toEqual({ kind: 'dead', reason: 'bad-line', detail: 'why' });
});

it('a module that is none, or exports no parse, is wrong use in one sentence that names it', async () => {
  for (const text of ['export const parser = 1;', 'this is no module', 'throw new Error("no luck")']) {
    const path = await moduleOf(text);
    const fault = await loadParser(path).catch((error: unknown) => error);
    expect(fault, text).toBeInstanceOf(ConfigError);
    expect((fault as ConfigError).message, text).toContain(path);
    expect((fault as ConfigError).message, text).toContain('INDEXER_PARSER');
  }
});

it('what it throws is about the record; an answer that is none stands still, whatever the record', () => {
  const throws: Parser = () => {
    throw new Error('no such field');
  };
  expect(parsed(throws, RECORD)).toEqual({ kind: 'dead', reason: 'parser-threw', detail: 'no such field' });
  const nonsense: readonly unknown[] = [
    undefined,
    null,
    'event',
    { kind: 'event' },
    { kind: 'event', value: { service: 'a' } },
    { kind: 'stored' },
    { kind: 'skipped' },
    { kind: 'skipped', reason: 'Any Words\n' },
    { kind: 'dead', reason: '' },
    Promise.resolve({ kind: 'skipped', reason: 'late' }),
  ];
  for (const answer of nonsense) expect(() => parsed(() => answer as Parsed, RECORD), String(answer)).toThrow(StandsStill);
});
