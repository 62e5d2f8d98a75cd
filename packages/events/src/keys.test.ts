import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { keyOf, murmur2, partitionForKey } from './keys.ts';

/** Made by golden/KafkaPartitioner.java with Kafka 4.4.0: `<key in base64> <murmur2> <partition of 12> <partition of 7>` a line. */
const vectors = readFileSync(new URL('../golden/partitions.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');

describe('keys', () => {
  it('hash and go to the partitions that Kafka’s Java client has for them', () => {
    expect(vectors.length).toBeGreaterThan(40);
    for (const line of vectors) {
      const key = Buffer.from(line.split(' ')[0] ?? '', 'base64');
      expect(`${key.toString('base64')} ${murmur2(key)} ${partitionForKey(key, 12)} ${partitionForKey(key, 7)}`).toBe(line);
    }
  });

  it('are the customer in UTF-8, or nothing', () => {
    expect(keyOf({ customer_id: 'Ünïcode 客户' })).toEqual(Buffer.from('Ünïcode 客户', 'utf8'));
    expect(keyOf({ customer_id: null })).toBeNull();
    expect(keyOf({})).toBeNull();
  });

  it('need a partition to go to', () => {
    expect(() => partitionForKey(Buffer.from('a'), 0)).toThrow('at least one partition, not 0');
  });
});
