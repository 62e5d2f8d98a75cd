import type { Cluster } from '../cluster/cluster.ts';
import type { TimeSpan } from '../proof/index-documents.ts';

/** What is read here of a receipt. */
export interface Receipt {
  readonly sent: { readonly records: number; readonly checksum: string };
  readonly applied: {
    readonly stored: number;
    readonly skipped: Readonly<Record<string, number>>;
    readonly dead: number;
    readonly checksum: string;
  };
  readonly agrees: boolean;
  readonly partitions: readonly { readonly fromLake: number; readonly fromKafka: number }[];
}

/** How many records of a receipt were read from either. */
export function sourcesOf({ partitions }: Receipt): { readonly fromLake: number; readonly fromKafka: number } {
  return {
    fromLake: partitions.reduce((sum, each) => sum + each.fromLake, 0),
    fromKafka: partitions.reduce((sum, each) => sum + each.fromKafka, 0),
  };
}

const iso = (timeMs: number): string => new Date(timeMs).toISOString();

/** What `tailrace` printed as JSON. Throws with its own words where it ended with another code than 0. */
async function jsonOf<T>(cluster: Cluster, ...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await cluster.tailrace(...args, '--json');
  if (code !== 0) throw new Error(`tailrace ${args.join(' ')} ended with ${code}: ${stderr.trim() || stdout.trim()}`);
  return JSON.parse(stdout) as T;
}

/** Makes a plan. Gives its number. */
export async function planReplay(cluster: Cluster, { fromMs, toMs }: TimeSpan): Promise<number> {
  const { id } = await jsonOf<{ id: number }>(cluster, 'replay', 'plan', '--from', iso(fromMs), '--to', iso(toMs), '--into', 'indexer');
  return id;
}

/** Runs a plan to its end. Gives its receipt. */
export async function runReplay(cluster: Cluster, plan: number): Promise<Receipt> {
  return await jsonOf<Receipt>(cluster, 'replay', 'run', String(plan));
}
