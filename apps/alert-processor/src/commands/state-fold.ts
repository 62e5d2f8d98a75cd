import type { AlertState, PartitionState, StateRecord } from '../decide/alert-state.ts';
import { StateTable } from '../decide/state-codec.ts';
import type { Silence } from '../messages/message.ts';

/** One record of `alert-state`, as it is read. */
export interface StateLogRecord {
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

/** What the records of all partitions of `alert-state` say together. */
export class StateFold {
  readonly #tables = new Map<number, StateTable>();

  /** In offset order per partition. */
  take({ partition, key, value }: StateLogRecord): void {
    let table = this.#tables.get(partition);
    if (table === undefined) {
      table = new StateTable();
      this.#tables.set(partition, table);
    }
    table.take(key, value);
  }

  get unreadable(): number {
    return [...this.#tables.values()].reduce((sum, table) => sum + table.unreadable, 0);
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
    return [...this.#tables].flatMap(([partition, { records }]) =>
      records.flatMap((record) => (record.kind === kind ? [{ partition, record: record as Extract<StateRecord, { kind: K }> }] : [])),
    );
  }
}
