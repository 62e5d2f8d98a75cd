import { type ChainId, chainText, type Ledger, type ListedEntry, listChain, offsetsIn, timeText } from '@tailrace/lake';

/** Which chains are shown: all that match what is given. */
export interface ChainFilter {
  readonly topic?: string | undefined;
  readonly incarnation?: string | undefined;
  readonly partition?: number | undefined;
}

export interface ShownChain extends ChainId {
  readonly entries: readonly (ListedEntry['entry'] & { readonly state: ListedEntry['state'] })[];
}

function matches(chain: ChainId, filter: ChainFilter): boolean {
  return (['topic', 'incarnation', 'partition'] as const).every((name) => filter[name] === undefined || filter[name] === chain[name]);
}

/** The chains of the ledger, entry by entry, one chain after another. */
export async function* shownChains(ledger: Ledger, filter: ChainFilter): AsyncIterable<ShownChain> {
  for (const chain of await ledger.chains()) {
    if (!matches(chain, filter)) continue;
    const entries: ShownChain['entries'][number][] = [];
    for await (const { entry, state } of listChain(ledger, chain)) entries.push({ ...entry, state });
    yield { ...chain, entries };
  }
}

const STATES: Readonly<Record<ListedEntry['state'], string>> = {
  stands: '',
  lost: ' LOST: its object could not be made',
  pending: ' (its object is still to come)',
};

/** A chain as lines for people. */
export function chainLines(chain: ShownChain): string[] {
  const count = chain.entries.length;
  return [
    `${chainText(chain)}: ${count} ${count === 1 ? 'entry' : 'entries'}, up to offset ${chain.entries.at(-1)?.next ?? 0}`,
    ...chain.entries.map(entryLine),
  ];
}

function entryLine(entry: ShownChain['entries'][number]): string {
  const head = `  ${entry.kind.padEnd(7)} ${entry.first} to ${entry.next - 1}`;
  if (entry.kind !== 'data') return head;
  const { rows, voids, minTimestampMs, maxTimestampMs, object, state } = entry;
  const holes = voids.length === 0 ? '' : `, ${offsetsIn(voids)} void offsets`;
  const time = `${timeText(minTimestampMs)} to ${timeText(maxTimestampMs)}`;
  return `${head}  ${rows} rows${holes}  ${time}  ${object}${STATES[state]}`;
}
