import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { metricFaults } from '../testing/metric-faults.ts';
import { metricReference } from './metric-reference.ts';
import { type MetricTable, registerMetrics, startAtZero } from './metric-table.ts';
import { RUNTIME_METRICS } from './runtime-metric-table.ts';

const TABLE = {
  posts: {
    name: 'x_posts_total',
    type: 'counter',
    unit: 'posts',
    labels: { how: ['fast', 'slow'] },
    says: 'Posts.',
    respond: 'Nothing.',
  },
  errors: {
    name: 'x_errors_total',
    type: 'counter',
    unit: 'errors',
    labels: { group: 'groups', kind: ['a'] },
    says: 'E.',
    respond: 'R | r.',
  },
  open: { name: 'x_open_posts', type: 'gauge', unit: 'posts', labels: { group: 'groups' }, says: 'Open.', respond: 'Nothing.' },
  took: { name: 'x_took_seconds', type: 'histogram', unit: 'seconds', labels: {}, says: 'Took.', respond: 'Nothing.', buckets: [1, 2] },
} as const satisfies MetricTable;

it('registers every row; counters with known values start at 0, and a gauge shows only what is set now', async () => {
  const registry = new Registry();
  let groups = ['a', 'b'];
  const figures = registerMetrics(registry, TABLE, {
    open: (set) => {
      for (const group of groups) set({ group }, 1);
    },
  });
  startAtZero(figures, TABLE, { group: 'a' });
  figures.took.observe(1.5);
  groups = ['b'];
  const text = await registry.metrics();
  for (const sample of ['x_posts_total{how="fast"} 0', 'x_posts_total{how="slow"} 0', 'x_errors_total{kind="a",group="a"} 0'])
    expect(text.replace('{group="a",kind="a"}', '{kind="a",group="a"}')).toContain(`${sample}\n`);
  expect(text).toContain('x_open_posts{group="b"} 1\n');
  expect(text).not.toContain('x_open_posts{group="a"}');
  expect(text).toContain('x_took_seconds_bucket{le="2"} 1\n');
});

it('a gauge without labels was 0 before anybody had set it', async () => {
  const registry = new Registry();
  let seconds: number | undefined;
  const row = { ...TABLE.open, name: 'x_warm_seconds', labels: {} } as const;
  registerMetrics(registry, { warm: row }, { warm: (set) => (seconds === undefined ? undefined : set({}, seconds)) });
  expect(await registry.metrics()).not.toContain('\nx_warm_seconds');
  seconds = 4;
  expect(await registry.metrics()).toContain('\nx_warm_seconds 4\n');
});

it('names what is dead and what is out of its bound', async () => {
  const registry = new Registry();
  const figures = registerMetrics(registry, TABLE, { open: () => {} });
  figures.posts.inc({ how: 'odd' });
  expect(await metricFaults(registry, TABLE)).toEqual([
    'x_posts_total has how="odd", which is not in its row',
    'x_errors_total is never fed',
    'x_open_posts is never fed',
    'x_took_seconds is never fed',
  ]);
  expect(await metricFaults(new Registry(), { open: TABLE.open })).toEqual(['x_open_posts is not registered']);
});

it('is one line a row on the page', () => {
  expect(metricReference({ errors: TABLE.errors }).split('\n').at(-1)).toBe(
    '| `x_errors_total` | counter | `group`: groups; `kind`: `a` | errors | E. | R \\| r. |',
  );
});

describe.each(Object.values<MetricTable[string]>(RUNTIME_METRICS))('$name', ({ name, type, unit, labels, says, respond, buckets }) => {
  it('has its unit in its name, says what it is and what to do, and never says lane', () => {
    expect(name.startsWith('tailrace_consumer_')).toBe(true);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    if (unit !== '0 or 1') expect(name).toContain(unit);
    expect([says, respond].filter((text) => !text.endsWith('.'))).toEqual([]);
    expect(JSON.stringify([name, labels, says, respond])).not.toMatch(/\blanes?\b/);
    expect(buckets !== undefined).toBe(type === 'histogram');
  });
});
