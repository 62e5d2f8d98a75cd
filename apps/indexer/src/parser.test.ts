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

function circular(): object {
  const answer: { kind: string; self?: object } = { kind: 'x' };
  answer.self = answer;
  return answer;
}

it('a parser that writes into what it was given changes nothing of the record', () => {
  const record = { key: Buffer.from('k'), value: Buffer.from('v'), headers: [['h', Buffer.from('x')]] as const };
  const vandal: Parser = ({ key, value, headers }) => {
    for (const bytes of [key, value, headers[0]?.[1]]) bytes?.fill(0);
    return { kind: 'dead', reason: 'bad' };
  };
  expect(parsed(vandal, record)).toEqual({ kind: 'dead', reason: 'bad' });
  expect(record).toEqual({ key: Buffer.from('k'), value: Buffer.from('v'), headers: [['h', Buffer.from('x')]] });
});

it('a module that is not loaded in time is wrong use', async () => {
  const path = await moduleOf('await new Promise(() => {}); export function parse() {}');
  await expect(loadParser(path, 50)).rejects.toThrow(/it was not loaded within 0.05 s/);
});

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
    Promise.reject(new Error('nobody waits for it')),
    { kind: 'event', value: 10n },
    Object.defineProperty({}, 'kind', {
      get: () => {
        throw new Error('no');
      },
      enumerable: true,
    }),
    new Proxy({}, { has: () => true, get: () => Symbol('no text') }),
    Object.assign({ kind: 'x' }, { toJSON: () => 1n }),
    circular(),
  ];
  for (const [i, answer] of nonsense.entries()) expect(() => parsed(() => answer as Parsed, RECORD), `answer ${i}`).toThrow(StandsStill);
});
