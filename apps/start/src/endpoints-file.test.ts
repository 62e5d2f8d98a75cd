import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EndpointsFile } from './endpoints-file.ts';
import type { Pipeline } from './pipeline.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tailrace-endpoints-'));
  file = join(folder, 'tailrace.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** As much of a pipeline as the file tells of; the S3 client has put a field of its own into the credentials. */
const behind: [string, string][] = [];
function running(pid: number): Pipeline {
  const s3 = { endpointUrl: 'http://s3', region: 'r', accessKeyId: 'a', secretAccessKey: 's', bucket: 'b', $source: { CODE: 'e' } };
  const endpoints = { kafkaBootstrapServers: 'k:1', opensearchUrl: 'http://o', s3 };
  return {
    stack: { endpoints, processes: [], folder: '/tmp/x', removeBehind: (...named: [string, string]) => void behind.push(named) },
    connections: { profile: 'local' },
    rules: '/tmp/x/rules',
    service: (name: string) => ({ pid, url: (server: string) => `http://${name}/${server}` }),
  } as unknown as Pipeline;
}

it('holds our fields only, for this user alone, with the address of each service’s health', () => {
  new EndpointsFile(file, running(1)).write();
  const written = JSON.parse(readFileSync(file, 'utf8'));
  expect(Object.keys(written.s3)).toEqual(['endpointUrl', 'region', 'accessKeyId', 'secretAccessKey', 'bucket']);
  expect(written.rules).toBe('/tmp/x/rules');
  expect(written.processes[1]).toEqual({
    name: 'indexer',
    pid: 1,
    livez: 'http://indexer/health/livez',
    readyz: 'http://indexer/health/readyz',
    metrics: 'http://indexer/health/metrics',
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('whoever stays behind a killed start is told what to remove, each time that it is written', () => {
  behind.length = 0;
  let pid = 1;
  const own = new EndpointsFile(file, {
    ...running(1),
    service: () => ({ pid, url: () => undefined }),
  } as unknown as Pipeline);
  for (pid = 1; pid <= 2; pid++) {
    own.write();
    expect(behind.at(-1)).toEqual([file, readFileSync(file, 'utf8')]);
  }
  expect(behind).toHaveLength(2);
});

it('goes when its start ends, and leaves nothing beside it', () => {
  const own = new EndpointsFile(file, running(1));
  own.write();
  own.remove();
  expect(readdirSync(folder)).toEqual([]);
});

/** The file as a start leaves it that was killed together with its janitor, with this owner. */
function leftBehind(owner: (own: { pid: number; started: string }) => object): string {
  new EndpointsFile(file, running(1)).write();
  const content = JSON.parse(readFileSync(file, 'utf8'));
  const text = JSON.stringify({ ...content, owner: owner(content.owner) });
  writeFileSync(file, text);
  return text;
}

it('the file of a start that still runs is refused, and stays as it is also when the refused one ends', () => {
  const own = new EndpointsFile(file, running(1));
  own.write();
  const text = readFileSync(file, 'utf8');
  const second = new EndpointsFile(file, running(2));
  expect(() => second.write()).toThrow(expect.objectContaining({ exitCode: 2, message: expect.stringContaining('still runs') }));
  second.remove();
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(readdirSync(folder)).toEqual(['tailrace.json']);
});

it.each([
  ['has ended', () => ({ pid: spawnSync(process.execPath, ['-e', '']).pid, started: '1' })],
  ['has ended, and another process got its number', ({ pid }: { pid: number }) => ({ pid, started: '1' })],
])('the file of a start that %s is replaced', (_, owner) => {
  leftBehind(owner);
  const own = new EndpointsFile(file, running(2));
  own.write();
  expect(JSON.parse(readFileSync(file, 'utf8')).processes[1].pid).toBe(2);
  expect(readdirSync(folder)).toEqual(['tailrace.json']);
  own.remove();
  expect(readdirSync(folder)).toEqual([]);
});

it.each([
  ['text', 'my notes'],
  ['JSON', '{"name":"my-package"}'],
  ['JSON that looks a little like ours', '{"owner":"me","environment":{}}'],
  ['nothing', ''],
])('a file of somebody else that holds %s is never replaced and never removed, whenever it came', (_, theirs) => {
  writeFileSync(file, theirs);
  const early = new EndpointsFile(file, running(1));
  expect(() => early.write()).toThrow(
    expect.objectContaining({ exitCode: 2, message: expect.stringMatching(/^[^\n]*name another one[^\n]*\.$/) }),
  );
  early.remove();
  rmSync(file);
  let pid = 1;
  const own = new EndpointsFile(file, { ...running(1), service: () => ({ pid, url: () => undefined }) } as unknown as Pipeline);
  own.write();
  writeFileSync(file, theirs);
  pid = 2;
  expect(() => own.write()).toThrow('did not write');
  own.remove();
  expect(readFileSync(file, 'utf8')).toBe(theirs);
  expect(readdirSync(folder)).toEqual(['tailrace.json']);
});

it('a file that this start never wrote, or that somebody has removed, is left alone', () => {
  writeFileSync(file, 'theirs');
  new EndpointsFile(file, running(1)).remove();
  expect(readFileSync(file, 'utf8')).toBe('theirs');
  rmSync(file);
  const own = new EndpointsFile(file, running(1));
  own.write();
  rmSync(file);
  own.remove();
  expect(existsSync(file)).toBe(false);
});
