import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cachedKafkaClassPath } from './config.ts';
import { murmur2, partitionForKey } from './keys.ts';

const golden = (name: string) => fileURLToPath(new URL(`../golden/${name}`, import.meta.url));
const classPath = cachedKafkaClassPath();

function askKafka(classes: string, keys: readonly Buffer[]): string[] {
  const input = keys.map((key) => `${key.toString('base64')}\n`).join('');
  return execFileSync('java', ['-cp', classes, golden('KafkaPartitioner.java')], { input, encoding: 'utf8' })
    .trim()
    .split('\n');
}

const java = spawnSync('java', ['-version']).status === 0;

// Without a local stack (servers given by the environment) there is no jar to ask; the committed vectors are checked all the same.
describe.skipIf(classPath === undefined || !java)('Kafka’s own client', () => {
  it('gives every key, in any script, the hash and the partition that we give it', () => {
    const committed = readFileSync(golden('partitions.txt'), 'utf8').trim().split('\n');
    const old = committed.map((line) => Buffer.from(line.split(' ')[0] ?? '', 'base64'));
    const unicode = fc.sample(fc.string({ unit: 'binary', maxLength: 40 }), 2000).map((text) => Buffer.from(text));
    const binary = fc.sample(fc.uint8Array({ maxLength: 20 }), 1000).map((bytes) => Buffer.from(bytes));
    const keys = [...old, ...unicode, ...binary];
    const answers = askKafka(classPath ?? '', keys);
    expect(answers).toEqual(keys.map((key) => `${murmur2(key)} ${partitionForKey(key, 12)} ${partitionForKey(key, 7)}`));
    expect(committed).toEqual(old.map((key, i) => `${key.toString('base64')} ${answers[i]}`));
  });
});
