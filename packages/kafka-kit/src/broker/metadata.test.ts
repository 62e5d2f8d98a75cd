import { expect, it } from 'vitest';
import { BrokerError } from './broker-consumer.ts';
import { Metadata } from './metadata.ts';
import { CODES } from './native-client.ts';

const unknown = new BrokerError('Local: Unknown partition', CODES.unknownPartition, false);

it('a look-up that fails because the cache knows no partition has it fetched anew, once for all who wait', async () => {
  const fetched: string[] = [];
  let cached = false;
  const metadata = new Metadata(async (topic) => {
    fetched.push(topic);
    await Promise.resolve();
    cached = true;
  });
  const lookUp = async (): Promise<string> => {
    if (!cached) throw unknown;
    return 'found';
  };
  const failed = await Promise.allSettled([1, 2, 3].map(() => metadata.refreshedWhereStale('events', 1000, lookUp)));
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(fetched).toEqual(['events']);
  expect(await metadata.refreshedWhereStale('events', 1000, lookUp)).toBe('found');
});

it('any other fault fetches nothing, and a fetch that fails hides no fault', async () => {
  let fetched = 0;
  const metadata = new Metadata(async () => {
    fetched += 1;
    throw new Error('away');
  });
  const failing = (fault: Error) => metadata.refreshedWhereStale('events', 1000, () => Promise.reject(fault));
  await expect(failing(new BrokerError('Local: Timed out', CODES.timedOut, false))).rejects.toThrow('Timed out');
  expect(fetched).toBe(0);
  for (let i = 1; i <= 2; i += 1) {
    await expect(failing(unknown)).rejects.toThrow('Unknown partition');
    expect(fetched).toBe(i);
  }
});
