import type { AlertState, PartitionState, StateRecord } from '../decide/alert-state.ts';
import { decodeState } from '../decide/state-codec.ts';
import type { Silence } from '../messages/message.ts';

/** One record of `alert-state`, as it is read. */
export interface StateLogRecord {
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

/** What the records of `alert-state` say together: of each key the record with the highest epoch, of one epoch the last, until it is deleted. */
export class StateFold {
  readonly #kept = new Map<string, { readonly partition: number; readonly record: StateRecord }>();
  unreadable = 0;

  /** In offset order per partition. */
  take({ partition, key, value }: StateLogRecord): void {
    const place = `${partition} ${key?.toString() ?? ''}`;
    if (value === null) {
      this.#kept.delete(place);
      return;
    }
    const record = decodeState(value);
    if (record === undefined) {
      this.unreadable += 1;
      return;
    }
    // A process that lost its partition may still write for a moment: its epoch is lower.
    if ((this.#kept.get(place)?.record.epoch ?? record.epoch) <= record.epoch) this.#kept.set(place, { partition, record });
  }

  get alerts(): readonly AlertState[] {
    return this.#of('alert').map(({ record }) => record);
  }

  get partitions(): readonly PartitionState[] {
    return this.#of('partition').map(({ record }) => record);
  }

  /** Of each silence what each partition has taken: every one of them is told of every silence. */
  get silences(): readonly { readonly partition: number; readonly silence: Silence }[] {
    return this.#of('silence').map(({ partition, record }) => ({ partition, silence: record.silence }));
  }

  #of<K extends StateRecord['kind']>(kind: K) {
    return [...this.#kept.values()].flatMap(({ partition, record }) =>
      record.kind === kind ? [{ partition, record: record as Extract<StateRecord, { kind: K }> }] : [],
    );
  }
}
