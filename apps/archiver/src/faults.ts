import { StandsStill } from '@tailrace/kafka-kit';
import { type ChainId, chainText, type OffsetRange } from '@tailrace/lake';

/** What was not archived yet is given up: the next owner reads it again from the chain's end. */
export class Abandoned extends Error {
  constructor(chain: ChainId, why: string) {
    super(`The open records of ${chainText(chain)} are given up: ${why}.`);
    this.name = 'Abandoned';
  }
}

/** The topic was deleted and made anew while its records were being archived. The partition stands still. */
export class TopicMadeAnew extends StandsStill {
  constructor(chain: ChainId, present: string | undefined) {
    const now = present === undefined ? 'it does not exist' : `its id begins with ${present}`;
    super(
      `The topic ${chain.topic} is no longer the one that was read (its id began with ${chain.incarnation}; now ${now}): partition ${chain.partition} stands still, because what of the old topic was not archived can not be read any more. Restart the archiver to begin a new chain for the new topic.`,
    );
    this.name = 'TopicMadeAnew';
  }
}

/** Offsets can not be read where the chain goes on, and this release has no ledger entry to declare it. The partition stands still. */
export class UndeclaredGap extends StandsStill {
  constructor(tp: { readonly topic: string; readonly partition: number }, kind: string, from: number, to: number) {
    super(
      `Offsets ${from} to ${to - 1} of ${tp.topic}, partition ${tp.partition}, are ${kind}: the partition stands still, because the archiver does not pass a hole in silence and can not declare this one yet.`,
    );
    this.name = 'UndeclaredGap';
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
