import type { QueryResult } from '@tailrace/lake';
import { printable } from '@tailrace/service';

const MAX_CELL = 80;

function cell(value: unknown): string {
  const text = value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  // Whoever can write an event could else colour, move or rewrite the terminal of whoever looks at it.
  const oneLine = printable(text.replaceAll(/\s+/g, ' '));
  return oneLine.length > MAX_CELL ? `${oneLine.slice(0, MAX_CELL - 1)}…` : oneLine;
}

/** A result as aligned columns under their names. */
export function tableLines({ columns, rows }: QueryResult): string[] {
  const cells = [columns.map(cell), ...rows.map((row) => columns.map((name) => cell(row[name])))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  const lines = cells.map((line) =>
    line
      .map((text, i) => text.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [lines[0] ?? '', rule, ...lines.slice(1), `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})`];
}
