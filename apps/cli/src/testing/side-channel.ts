import { decodeSideRecord, type OutgoingRecord, type Published } from '@tailrace/kafka-kit';
import type { DlqReplayPorts } from '../dlq-replay.ts';
import { BEGIN_MS, type Dlq } from './dlq-topic.ts';

export const INTO = 'service-events.indexer.replay';

/** Takes what is sent, and answers as it is told: each fate for one publish, the last for all that follow. */
export class Channel {
  readonly records: OutgoingRecord[] = [];
  readonly asked: string[] = [];
  readonly fates: ((record: OutgoingRecord, i: number) => Published)[] = [];
  opened = 0;
  closed = 0;
  answer = true;
  onSend = (): void => {};

  ports(dlq: Dlq): DlqReplayPorts {
    let nowMs = BEGIN_MS + 3_600_000;
    return {
      admin: dlq.admin,
      read: dlq.read,
      connect: async () => {
        this.opened += 1;
        return {
          publish: async (records) => {
            this.onSend();
            const fate = this.fates.length > 1 ? this.fates.shift() : this.fates[0];
            return records.map((record, i) => {
              const answer = fate?.(record, i) ?? { kind: 'acknowledged' };
              if (answer.kind === 'acknowledged') this.records.push(record);
              return answer;
            });
          },
          close: async () => {
            this.closed += 1;
          },
        };
      },
      confirm: async (question) => {
        this.asked.push(question);
        return this.answer;
      },
      note: () => {},
      nowMs: () => nowMs++,
    };
  }

  /** What was sent: source offset, and rounds. */
  sent(): readonly (readonly [partition: number, offset: number, rounds: string])[] {
    return this.records.map(({ topic: into, partition, key, value, headers = [] }) => {
      const side = decodeSideRecord({ key, value, headers });
      if (side === undefined || into !== INTO || partition !== side.origin.partition) throw new Error('this is no record for the channel');
      return [side.origin.partition, side.origin.offset, side.notes.map(([name, text]) => `${name}=${text}`).join()];
    });
  }
}
