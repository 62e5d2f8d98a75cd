// biome-ignore lint/style/noRestrictedImports: the one place where a row of a table becomes a metric.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What bounds a label: all values that there are, or in words what keeps them from growing with the data. */
export type LabelBound = readonly string[] | string;

/** One metric. */
export interface MetricRow {
  /** In full, as it is scraped: with its unit, and `_total` behind that of a counter. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** As it stands in the name; `0 or 1` for a state. */
  readonly unit: string;
  readonly labels: Readonly<Record<string, LabelBound>>;
  /** What the number is. */
  readonly says: string;
  /** What to do about it, and when. */
  readonly respond: string;
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

/** All metrics of one part of the system, by the name that its code has for each. */
export type MetricTable = Readonly<Record<string, MetricRow>>;

/** The members of a union as a label's values: one that is added to the union and not to the row does not compile. */
export function everyOf<V extends string>(values: Readonly<Record<V, true>>): readonly V[] {
  return Object.keys(values) as V[];
}

type LabelsOf<R extends MetricRow> = keyof R['labels'] & string;
type KeysOf<T extends MetricTable, Type extends MetricRow['type']> = { [K in keyof T]: T[K]['type'] extends Type ? K : never }[keyof T];

/** Sets the present value of a gauge, at a scrape. */
export type SetGauge<L extends string = string> = (labels: Readonly<Record<L, string | number>>, value: number) => void;

/** How each gauge is read: without one a gauge can not be registered. What is not set has no sample. */
export type GaugeReaders<T extends MetricTable> = { readonly [K in KeysOf<T, 'gauge'>]: (set: SetGauge<LabelsOf<T[K]>>) => void };

/** What the code counts with. */
export type Registered<T extends MetricTable> = { readonly [K in KeysOf<T, 'counter'>]: Counter<LabelsOf<T[K]>> } & {
  readonly [K in KeysOf<T, 'histogram'>]: Histogram<LabelsOf<T[K]>>;
};

/**
 * Registers every row of the table, once per registry: a second time its names are taken. Counters whose label values are all known
 * start at 0, so that the rate over the first one is right.
 */
export function registerMetrics<const T extends MetricTable>(registry: Registry, table: T, readers: GaugeReaders<T>): Registered<T> {
  const registered: Record<string, Counter | Histogram> = {};
  const registers = [registry];
  for (const [key, row] of Object.entries(table)) {
    const { name, says: help, type, buckets } = row;
    const labelNames = Object.keys(row.labels);
    if (type === 'counter') registered[key] = new Counter({ name, help, labelNames, registers });
    else if (type === 'histogram') registered[key] = new Histogram({ name, help, labelNames, registers, buckets: [...(buckets ?? [])] });
    else gauge(row, labelNames, registers, (readers as Readonly<Record<string, (set: SetGauge) => void>>)[key]);
  }
  const all = registered as unknown as Registered<T>;
  startAtZero(all, table, {});
  return all;
}

function gauge({ name, says: help }: MetricRow, labelNames: string[], registers: Registry[], read?: (set: SetGauge) => void): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers,
    collect() {
      // What is gone, like a partition that went to another member, must leave no sample behind: two members would show it.
      this.reset();
      // One without labels would be 0 by itself, and say what nobody knows.
      this.remove({});
      read?.((labels, value) => this.set(labels, value));
    },
  });
}

/** Starts every counter of which `known` holds all labels that have no list of values, with each combination of the listed ones. */
export function startAtZero<T extends MetricTable>(
  registered: Registered<T>,
  table: T,
  known: Readonly<Record<string, string | number>>,
): void {
  for (const [key, { type, labels }] of Object.entries(table)) {
    const open = Object.keys(labels).filter((label) => typeof labels[label] === 'string');
    if (type !== 'counter' || open.length !== Object.keys(known).length || !open.every((label) => label in known)) continue;
    const counter = (registered as unknown as Readonly<Record<string, Counter>>)[key];
    for (const listed of combinations(labels)) counter?.inc({ ...known, ...listed }, 0);
  }
}

function combinations(labels: MetricRow['labels']): readonly Readonly<Record<string, string>>[] {
  return Object.entries(labels).reduce<readonly Readonly<Record<string, string>>[]>(
    (some, [label, bound]) =>
      typeof bound === 'string' ? some : some.flatMap((each) => bound.map((value) => ({ ...each, [label]: value }))),
    [{}],
  );
}
