import type { StateRecord } from './alert-state.ts';
import { STATE_SHAPES } from './state-shapes.ts';

/** The key of a record in `alert-state`. */
export function stateKey(record: StateRecord): string {
  if (record.kind === 'alert') return JSON.stringify(['alert', record.rule, record.group]);
  if (record.kind === 'partition') return JSON.stringify(['partition', record.partition]);
  return JSON.stringify(['silence', record.silence.id]);
}

export function encodeState(record: StateRecord): Buffer {
  return Buffer.from(JSON.stringify(record));
}

/** Undefined where the value is nothing that a decide stage writes. */
export function decodeState(value: Uint8Array): StateRecord | undefined {
  try {
    const record = JSON.parse(Buffer.from(value).toString()) as Partial<StateRecord> | null;
    return STATE_SHAPES.get(record?.kind)?.(record) === true ? (record as StateRecord) : undefined;
  } catch {
    return undefined; // Counted, and told.
  }
}

/** What the records of one partition say together, in offset order: of each key the record with the highest epoch, of one epoch the last one. */
export class StateTable {
  readonly #records = new Map<string, StateRecord>();
  unreadable = 0;

  take(key: Uint8Array | null, value: Uint8Array | null): void {
    const name = key === null ? '' : Buffer.from(key).toString();
    if (value === null) {
      this.#records.delete(name);
      return;
    }
    const record = decodeState(value);
    if (record === undefined) {
      this.unreadable += 1;
      return;
    }
    if ((this.#records.get(name)?.epoch ?? record.epoch) <= record.epoch) this.#records.set(name, record);
  }

  get records(): readonly StateRecord[] {
    return [...this.#records.values()];
  }
}
