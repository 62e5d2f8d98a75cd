import type { LabelBound, MetricTable } from './metric-table.ts';

/** The table as one of a Markdown page. */
export function metricReference(table: MetricTable): string {
  const rows = Object.values(table).map(({ name, type, unit, labels, says, respond }) =>
    [`\`${name}\``, type, Object.entries(labels).map(label).join('; '), unit, says, respond].map(cell).join(' | '),
  );
  return [
    '| metric | type | labels | unit | what it says | what to do |',
    '|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
}

function label([name, bound]: readonly [string, LabelBound]): string {
  return `\`${name}\`: ${typeof bound === 'string' ? bound : bound.map((value) => `\`${value}\``).join(', ')}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
