import type { Registry } from 'prom-client';
import type { MetricTable } from '../observe/metric-table.ts';

/**
 * What is wrong with the present samples of a table's metrics, a line each: a metric that is not registered; a counter or histogram that
 * nothing has moved and a gauge without a sample (nobody feeds it: a dead row); a label that the row does not name, or a value that is not
 * in the row's list. Feed it everything that the code can tell before.
 */
export async function metricFaults(registry: Registry, table: MetricTable): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { name, type, labels } of Object.values(table)) {
    const metric = await registry.getSingleMetric(name)?.get();
    const samples = metric?.values ?? [];
    if (metric === undefined) faults.push(`${name} is not registered`);
    else if (type === 'gauge' ? samples.length === 0 : !samples.some(({ value }) => value > 0)) faults.push(`${name} is never fed`);
    for (const { labels: found } of samples) {
      for (const [label, value] of Object.entries(found)) {
        if (type === 'histogram' && label === 'le') continue;
        const bound = labels[label];
        if (bound === undefined) faults.push(`${name} has the label ${label}, which is not in its row`);
        else if (typeof bound !== 'string' && !bound.includes(String(value)))
          faults.push(`${name} has ${label}="${value}", which is not in its row`);
      }
    }
  }
  return faults;
}

/** The metrics of ours that a process has registered, by its scrape, in order. */
export function scrapedNames(scrape: string): readonly string[] {
  return [...scrape.matchAll(/^# TYPE (tailrace_\w+) /gm)].map(([, name]) => name ?? '').sort();
}

/** The metrics that a generated page names in the sections whose heading begins so, in order. */
export function pageNames(page: string, ...headings: readonly string[]): readonly string[] {
  const sections = page.split('\n## ').filter((section) => headings.some((heading) => section.startsWith(heading)));
  return sections.flatMap((section) => [...section.matchAll(/^\| `(tailrace_\w+)` \|/gm)].map(([, name]) => name ?? '')).sort();
}
