import { StandsStill, TAILRACE } from '@tailrace/kafka-kit';
import { isoTime } from '@tailrace/kafka-kit/time';
import { type ChainId, chainText, type OffsetRange } from '@tailrace/lake';

/** What was not archived yet is given up: whoever opens the chain next reads it again from its end, as far as Kafka still has it. */
export class Abandoned extends Error {
  constructor(chain: ChainId, why: string) {
    super(`The open records of ${chainText(chain)} are given up: ${why}.`);
    this.name = 'Abandoned';
  }
}

/** The topic is no longer the one that was read. What was delivered may be the new one's, until it is known up to where it is not. */
export class TopicMadeAnew extends Error {
  constructor(chain: ChainId, present: string | undefined) {
    const now = present === undefined ? 'there is none of that name' : `its id begins with ${present}`;
    super(
      `The topic ${chain.topic} is no longer the one whose records are archived (its id began with ${chain.incarnation}; now ${now}): what is known to be the old one's is written, and then a new chain begins.`,
    );
    this.name = 'TopicMadeAnew';
  }
}

/** The log is not what the chain says of it, and no ledger entry can declare that. The partition stands still. */
export class UndeclaredGap extends StandsStill {
  constructor(tp: { readonly topic: string; readonly partition: number }, kind: string, from: number, to: number) {
    super(
      `Offsets ${from} to ${to - 1} of ${tp.topic}, partition ${tp.partition}, are ${kind}: the partition stands still, because the archiver passes no hole in silence, and there is no ledger entry for this one.`,
    );
    this.name = 'UndeclaredGap';
  }
}

/** No object of the lake can be named after the time of a record, and the lake passes over none. The partition stands still before it. */
export class NoBrokerTime extends StandsStill {
  readonly offset: number;

  constructor({ topic, partition }: ChainId, offset: number, timestampMs: number) {
    super(
      `Offset ${offset} of ${topic}, partition ${partition}, has the time ${isoTime(timestampMs)}, outside of the years 1 to 9999, and the lake is ordered by broker time: the partition stands still before it, and all before it is archived. The topic must have message.timestamp.type=LogAppendTime (\`${TAILRACE} topics plan\` shows whether it has); the record keeps its time, so delete the log up to offset ${offset} (kafka-delete-records, offset ${offset + 1}) and start the archiver again, which then declares lost what it had not archived.`,
    );
    this.name = 'NoBrokerTime';
    this.offset = offset;
  }
}

/** A batch does not follow what was taken before it: it is refused with all behind it, and comes again in order. */
export class OutOfOrder extends Error {
  constructor(chain: ChainId, expected: number, got: number) {
    super(`${chainText(chain)}: a batch begins at offset ${got}, and ${expected} is next.`);
    this.name = 'OutOfOrder';
  }
}

/** The rows of an object can not be read from the spool any more. They are in Kafka: the lane is opened again at the chain's end. */
export class SpoolLost extends Error {
  constructor(chain: ChainId, { first, next }: OffsetRange, why: string) {
    super(
      `The rows of offsets ${first} to ${next - 1} of ${chainText(chain)} can not be read from the spool (${why}): they are read from Kafka again.`,
    );
    this.name = 'SpoolLost';
  }
}

/** A record lies where the log was said to hold none: nothing is declared, and the lane is opened again at the chain's end. */
export class NotVoid extends Error {
  constructor(chain: ChainId, { first, next }: OffsetRange, offset: number) {
    super(
      `Offset ${offset} of ${chainText(chain)} holds a record, although ${first} to ${next - 1} were passed over as void: they are read again.`,
    );
    this.name = 'NotVoid';
  }
}
