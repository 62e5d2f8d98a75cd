import { Consumer, Producer } from '@platformatic/kafka';
import { afterAll, expect, test } from 'vitest';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import { readRanges } from '../recover/read-ranges.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { adminOptions } from './cluster-admin.ts';

const kafka = new RealKafka('lost-on-the-way-test');
afterAll(() => kafka.close());

/**
 * What the native client does not give us of a record that another producer wrote, as docs/what-you-may-rely-on.md tells it. A test
 * that fails here is good news: the page can be mended.
 */
test('of headers the native client loses null values, what stands behind a NUL in a name, and names that are not UTF-8', async () => {
  const topic = await kafka.topic(1);
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>(adminOptions(kafka.settings));
  const headers = new Map<Buffer, Buffer>([
    [Buffer.from('null'), null as unknown as Buffer],
    [Buffer.from('empty'), Buffer.alloc(0)],
    [Buffer.from('cut\0here'), Buffer.from('1')],
    [Buffer.from([0x61, 0xff, 0x62]), Buffer.from('2')],
    [Buffer.alloc(0), Buffer.from('3')],
    [Buffer.from('__proto__'), Buffer.from('4')],
  ]);
  await producer.send({ messages: [{ topic, partition: 0, key: Buffer.alloc(0), value: Buffer.alloc(0), headers }] });
  await producer.close();
  const records = [];
  for await (const some of readRanges(kafka.settings, [{ topic, partition: 0, from: 0, to: 1 }])) records.push(...some);
  const [record] = records;
  expect([record?.key, record?.value]).toEqual([Buffer.alloc(0), Buffer.alloc(0)]);
  expect(record?.headers.map(([name, value]) => [name, value?.toString()])).toEqual([
    ['null', ''],
    ['empty', ''],
    ['cut', '1'],
    ['a\ufffdb', '2'],
    ['', '3'],
    ['__proto__', '4'],
  ]);
});

test('of headers that we write, another client sees an empty value as empty and a null one as null', async () => {
  const topic = await kafka.topic(1);
  const publisher = await connectPublisher(kafka.settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
  const headers = [
    ['empty', Buffer.alloc(0)],
    ['null', null],
    ['a', Buffer.from('1')],
  ] as const;
  await publisher.publish([{ topic, partition: 0, key: null, value: Buffer.from('v'), headers }], { deadlineMs: 10_000 });
  await publisher.close(5000);
  const consumer = new Consumer<Buffer, Buffer, Buffer, Buffer>({ ...adminOptions(kafka.settings), groupId: kafka.name('group') });
  const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false });
  for await (const message of stream) {
    expect([...message.headers].map(([name, value]) => [String(name), value?.toString()])).toEqual([
      ['empty', ''],
      ['null', undefined],
      ['a', '1'],
    ]);
    break;
  }
  await consumer.close(true);
});
