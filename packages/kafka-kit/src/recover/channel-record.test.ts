import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { channelRecord, readChannelRecord, sentRecord, sentTombstone } from './channel-record.ts';
import { readPositionRecord } from './position-record.ts';

const to = { topic: 'positions', partition: 0 };
const whole = fc.maxSafeNat();
const name = fc.string({ minLength: 1, maxLength: 8 });
const incarnation = fc.constantFrom('AbCd_fGh', '-bCdefG1');
const checksum = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((sum) => sum.toString(16).padStart(16, '0'));
const counts = fc.record({
  through: whole,
  stored: whole,
  skipped: fc.dictionary(name, whole, { maxKeys: 3, noNullPrototype: true }),
  dead: whole,
  retried: whole,
  checksum,
});
const position = fc.record({
  topic: name,
  partition: fc.nat(99),
  incarnation,
  nextToRead: whole,
  plans: fc.dictionary(fc.nat(99).map(String), counts, { maxKeys: 3, noNullPrototype: true }),
});
const sent = fc.record({
  group: name,
  plan: fc.nat(99).map(String),
  topic: name,
  partition: fc.nat(99),
  incarnation,
  sideNext: whole,
  through: fc.integer({ min: -1, max: 2 ** 31 }),
  records: whole,
  bytes: whole,
  checksum,
});

describe('what a replay keeps among the positions', () => {
  it('comes back as it was', () => {
    fc.assert(
      fc.property(position, sent, name, (channel, of, group) => {
        expect(readChannelRecord(channelRecord(to, group, channel))).toEqual({ kind: 'channel', group, position: channel });
        expect(readChannelRecord(sentRecord(to, of))).toEqual({ kind: 'sent', sent: of });
        expect(readChannelRecord(sentTombstone(to, of))).toMatchObject({ kind: 'sent-dropped', sent: { plan: of.plan, topic: of.topic } });
      }),
    );
  });

  it('is a position to who reads only positions, and the sender’s record none', () => {
    fc.assert(
      fc.property(position, sent, name, (channel, of, group) => {
        const { topic, partition, nextToRead } = channel;
        expect(readPositionRecord(channelRecord(to, group, channel), group)).toMatchObject({
          kind: 'position',
          position: { topic, partition, incarnation: channel.incarnation, nextToRead },
        });
        expect(readPositionRecord(sentRecord(to, of), of.group)).toEqual({ kind: 'other' });
      }),
    );
  });

  it('is unreadable where a part is missing or makes no sense', () => {
    const value = (fields: object): Buffer => Buffer.from(JSON.stringify(fields));
    const key = Buffer.from(JSON.stringify(['sent', 'g', '1', 't', 0]));
    const good = { incarnation: 'AbCd_fGh', sideNext: 1, through: -1, records: 0, bytes: 0, checksum: '0'.repeat(16) };
    expect(readChannelRecord({ key, value: value(good) }).kind).toBe('sent');
    for (const field of Object.keys(good)) {
      expect(readChannelRecord({ key, value: value({ ...good, [field]: undefined }) }).kind, field).toBe('unreadable');
      expect(readChannelRecord({ key, value: value({ ...good, [field]: -2 }) }).kind, field).toBe('unreadable');
    }
    expect(readChannelRecord({ key: Buffer.from('nonsense'), value: null }).kind).toBe('unreadable');
    expect(readChannelRecord({ key: Buffer.from('["later-kind"]'), value: null }).kind).toBe('other');
  });
});
