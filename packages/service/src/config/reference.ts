import { expectedOf } from './load.ts';
import { type Variable, type VariableTable, variablesOf } from './variable.ts';

/** The rows of a Markdown table that documents the variables: name, what it is, what is expected, when it must be set. */
export function configReference(table: VariableTable): string {
  const rows = variablesOf(table).map((variable) =>
    row([`\`${variable.name}\``, variable.about, expectedOf(variable) + (variable.secret ? ' (secret)' : ''), needOf(variable)]),
  );
  return [row(['variable', 'what it is', 'expected', 'default']), row(['---', '---', '---', '---']), ...rows].join('\n');
}

function needOf({ need }: Variable): string {
  if (typeof need === 'string') return need === 'required' ? '**must be set**' : 'not set';
  if ('default' in need) return `\`${need.default}\``;
  return `must be set when \`${need.requiredWhen}\` is ${need.is === undefined ? 'set' : need.is.join(' or ')}`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
