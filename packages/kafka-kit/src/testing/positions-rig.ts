import { createPublisher } from '../publish/publisher.ts';
import { partitionKey } from '../records.ts';
import { type KeptPosition, positionRecord, readPositionRecord } from '../recover/position-record.ts';
import { positionsLogWith } from '../recover/positions-log.ts';
import { MemoryProducer } from './memory-producer.ts';
import { GROUP, RuntimeRig } from './runtime-rig.ts';

export const POSITIONS = 'kept.positions';
const PLACE = { topic: POSITIONS, partition: 0 };

/** A rig whose members keep their positions a second time, in a topic in memory. */
export class PositionsRig extends RuntimeRig {
  readonly producer = new MemoryProducer(this.cluster);
  /** How many readings were begun. */
  readings = 0;
  /** While set, a reading waits for it before it begins. */
  gate: Promise<void> | undefined;

  static async open(partitions = 1, settings: ConstructorParameters<typeof RuntimeRig>[1] = {}): Promise<PositionsRig> {
    const rig = new PositionsRig(partitions, settings);
    rig.cluster.createTopic(POSITIONS, 1);
    const opening = createPublisher({ producers: [rig.producer], maxInFlightBytes: 1_000_000, clock: rig.clock, log: () => {} });
    await rig.clock.advance(10);
    const port = positionsLogWith({
      group: GROUP,
      topic: POSITIONS,
      publisher: await opening,
      consumer: () => rig.cluster.consumer('position-readers'),
    });
    rig.positions = {
      write: port.write,
      read: async () => {
        rig.readings += 1;
        await rig.gate;
        return port.read();
      },
    };
    return rig;
  }

  /** Puts a position there, as an earlier member of the group. */
  keep(nextToRead: number, partition = 0, rest: Partial<KeptPosition> = {}): void {
    const { key, value } = positionRecord(PLACE, GROUP, { ...this.tp(partition), incarnation: 'mem00001', nextToRead, ...rest });
    this.cluster.append(PLACE, { key, value });
  }

  /** Every position that was written for a partition, in order, as `incarnation:next`. */
  written(partition = 0): string[] {
    return this.cluster.records(PLACE).flatMap((record) => {
      const said = readPositionRecord(record, GROUP);
      if (said.kind !== 'position' || partitionKey(said.position) !== partitionKey(this.tp(partition))) return [];
      const { incarnation, nextToRead, first } = said.position;
      return [`${incarnation}:${nextToRead}${first === true ? ' first' : ''}`];
    });
  }
}
