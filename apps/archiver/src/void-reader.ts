import type { RawRecord } from '@tailrace/kafka-kit';
import type { ChainId, OffsetRange } from '@tailrace/lake';
import { NotVoid } from './faults.ts';
import { type LogAccess, nextRecords, startOf, stillThatTopic } from './log-range-reader.ts';

const CLOSE_MS = 5_000;
/** Between two voids the records are read through rather than jumped over, where they are no more than this. */
const READ_THROUGH_OFFSETS = 20_000;

/** Says where the first of the voids begins that can not be read again, because the log has begun behind it or that life of the topic is over. */
export type ConfirmVoids = (chain: ChainId, voids: readonly OffsetRange[]) => Promise<number | undefined>;

/**
 * Reads voids of one partition a second time, all with one consumer: the first record at or above the begin of each must lie behind it.
 * They are in the order of offsets. Rejects with NotVoid where a record lies in one.
 */
export function voidReader(access: LogAccess): ConfirmVoids {
  return async (chain, voids) => {
    const [first] = voids;
    const last = voids.at(-1);
    if (first === undefined || last === undefined) return undefined;
    if (await access.isOver(chain)) return first.first;
    const consumer = access.connect();
    try {
      const logStart = await startOf(consumer, chain, { first: 0, next: last.next });
      const tp = { topic: chain.topic, partition: chain.partition };
      const polled: RawRecord[] = [];
      let position: number | undefined;
      for (const hole of voids) {
        if (hole.first < logStart) return hole.first;
        if (position === undefined || hole.first - position > READ_THROUGH_OFFSETS) {
          if (position !== undefined) consumer.unassign([tp]);
          consumer.assign([{ ...tp, nextToRead: hole.first }]);
          polled.length = 0;
        }
        let next = polled.shift();
        while (next === undefined || next.offset < hole.first) {
          if (polled.length === 0) polled.push(...(await nextRecords(consumer, chain, hole.next)));
          next = polled.shift();
        }
        if (next.offset < hole.next) throw new NotVoid(chain, hole, next.offset);
        // It may lie behind the next void too: it is looked at again there.
        polled.unshift(next);
        position = next.offset;
      }
      await stillThatTopic(consumer, chain);
      return undefined;
    } finally {
      await consumer.close(CLOSE_MS);
    }
  };
}
