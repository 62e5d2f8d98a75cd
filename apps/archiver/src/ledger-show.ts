import { isoTime } from '@tailrace/kafka-kit/time';
import { type ChainId, chainText, type Ledger, type ListedEntry, listChain, offsetsIn } from '@tailrace/lake';

/** Which chains are shown: all that match what is given. */
export interface ChainFilter {
  readonly topic?: string | undefined;
  readonly incarnation?: string | undefined;
  readonly partition?: number | undefined;
}

type GoodEntry = ListedEntry['entry'] & { readonly state: ListedEntry['state'] };
export type ShownEntry = GoodEntry | { readonly kind: 'damaged'; readonly first: number; readonly detail: string };

export interface ShownChain extends ChainId {
  readonly entries: readonly ShownEntry[];
}

/** No chain is what was asked for; says what there is. */
export class NoSuchChain extends Error {
  constructor(filter: ChainFilter, chains: readonly ChainId[]) {
    const asked = FILTERS.flatMap((name) => (filter[name] === undefined ? [] : [`--${name} ${filter[name]}`])).join(' ');
    const lives = new Map<string, number[]>();
    for (const { topic, incarnation, partition } of chains) {
      const life = `--topic ${topic} --incarnation ${incarnation}`;
      lives.set(
        life,
        [...(lives.get(life) ?? []), partition].sort((a, b) => a - b),
      );
    }
    const there = [...lives].map(([life, partitions]) => `${life} with the partitions ${partitions.join(', ')}`);
    super(
      `The ledger has no chain for ${asked}. It has ${there.length === 0 ? 'none at all: nothing was archived yet' : there.join('; ')}.`,
    );
    this.name = 'NoSuchChain';
  }
}

const FILTERS = ['topic', 'incarnation', 'partition'] as const;

function matches(chain: ChainId, filter: ChainFilter): boolean {
  return FILTERS.every((name) => filter[name] === undefined || filter[name] === chain[name]);
}

/** The chains of the ledger, entry by entry, one chain after another. Throws NoSuchChain where a filter is given and none matches. */
export async function* shownChains(ledger: Ledger, filter: ChainFilter): AsyncIterable<ShownChain> {
  const all = await ledger.chains();
  const wanted = all.filter((chain) => matches(chain, filter));
  if (wanted.length === 0 && FILTERS.some((name) => filter[name] !== undefined)) throw new NoSuchChain(filter, all);
  for (const chain of wanted) {
    const entries: ShownEntry[] = [];
    for await (const each of listChain(ledger, chain))
      entries.push(
        'damage' in each ? { kind: 'damaged', first: each.first, detail: each.damage.message } : { ...each.entry, state: each.state },
      );
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
  const last = chain.entries.at(-1);
  const end = last?.kind === 'damaged' ? `beyond offset ${last.first}` : `up to offset ${last?.next ?? 0}`;
  return [`${chainText(chain)}: ${count} ${count === 1 ? 'entry' : 'entries'}, ${end}`, ...chain.entries.map(entryLine)];
}

function entryLine(entry: ShownEntry): string {
  if (entry.kind === 'damaged') return `  DAMAGED ${entry.first} to ?  ${entry.detail}`;
  const head = `  ${entry.kind.padEnd(7)} ${entry.first} to ${entry.next - 1}`;
  if (entry.kind !== 'data') return head;
  const { rows, voids, minTimestampMs, maxTimestampMs, object, state } = entry;
  const holes = voids.length === 0 ? '' : `, ${offsetsIn(voids)} void offsets`;
  const time = `${isoTime(minTimestampMs)} to ${isoTime(maxTimestampMs)}`;
  return `${head}  ${rows} rows${holes}  ${time}  ${object}${STATES[state]}`;
}
