import type { FailedRecord } from '../broker/broker-producer.ts';
import type { Headers } from '../records.ts';
import type { OutgoingRecord } from './contract.ts';

type Fault = Pick<FailedRecord, 'reason' | 'certain' | 'own'>;

/**
 * Finds the entries that failed by their bytes: the client reports failures without a handle. Where equal bytes belong to records
 * that differ in headers or partition, which a failure does not tell, the fate of all of them is unknown; and where a failure
 * belongs to no entry, that of the whole group, since its real owner must not be taken for acknowledged.
 */
export function matchFailures<E extends { readonly record: OutgoingRecord }>(
  group: readonly E[],
  failures: readonly FailedRecord[],
): ReadonlyMap<E, Fault> {
  const byBytes = new Map<string, E[]>();
  for (const entry of group) {
    const key = identity(entry.record);
    const same = byBytes.get(key);
    if (same === undefined) byBytes.set(key, [entry]);
    else same.push(entry);
  }
  const failed = new Map<E, Fault>();
  const open = new Map([...byBytes].map(([key, entries]) => [key, [...entries]]));
  for (const failure of failures) {
    const key = identity(failure);
    const entry = open.get(key)?.pop();
    if (entry === undefined) return new Map(group.map((each) => [each, unknown(failure)]));
    failed.set(entry, failure);
  }
  for (const failure of failures) {
    const key = identity(failure);
    const same = byBytes.get(key) ?? [];
    if (open.get(key)?.length !== 0 && !interchangeable(same)) for (const each of same) failed.set(each, unknown(failure));
  }
  return failed;
}

function unknown({ reason }: FailedRecord): Fault {
  return { reason, certain: false, own: false };
}

/** Which of two equal records failed makes no difference: one of them is in the log. */
function interchangeable(entries: readonly { readonly record: OutgoingRecord }[]): boolean {
  const [first] = entries;
  return entries.every(({ record }) => record.partition === first?.record.partition && equalHeaders(record.headers, first?.record.headers));
}

function equalHeaders(a: Headers | undefined, b: Headers | undefined): boolean {
  if (a === b) return true;
  if (a?.length !== b?.length) return false;
  return (a ?? []).every(([name, value], i) => {
    const other = b?.[i];
    return name === other?.[0] && (value === null ? other[1] === null : other[1] !== null && value.equals(other[1]));
  });
}

/** With lengths: without them two keys and values could be cut differently and look the same. */
function identity(record: { readonly topic: string; readonly key: Buffer | null; readonly value: Buffer | null }): string {
  const part = (bytes: Buffer | null): string => `${bytes?.length ?? -1}:${bytes?.toString('latin1') ?? ''}`;
  return `${record.topic}\n${part(record.key)}${part(record.value)}`;
}
