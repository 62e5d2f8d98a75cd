/** The SQL is wrong, or not for this place. `message` is one sentence, with line and column where DuckDB tells them. */
export class QueryFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'QueryFault';
  }
}

interface Told {
  readonly kind: string;
  readonly what: string;
  /** In characters from 0. */
  readonly position: number | undefined;
}

/** DuckDB's error under `errors_as_json`. A parser's error has words before the JSON. */
function told(message: string): Told | undefined {
  const jsonAt = message.indexOf('{');
  if (jsonAt === -1) return undefined;
  try {
    const { exception_type: kind, exception_message: what, position } = JSON.parse(message.slice(jsonAt)) as Record<string, unknown>;
    if (typeof kind !== 'string' || typeof what !== 'string') return undefined;
    return { kind, what, position: position === undefined ? undefined : Number(position) };
  } catch {
    // Safe: an error in another form is told as it stands.
    return undefined;
  }
}

/** Where in the text, for people: lines and columns from 1. DuckDB counts bytes of UTF-8. */
function placeText(sql: string, position: number): string {
  const before = Buffer.from(sql, 'utf8').subarray(0, position).toString('utf8').split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

const oneLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

const ended = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** DuckDB looks for a likeness among its own system tables, and there are two views here. */
function ownTable(what: string): string {
  return what.replace(/^(Table with name .+? does not exist\b).*$/s, '$1! Did you mean "events"?');
}

/** What DuckDB said about `sql`, as one sentence on one line. */
export function queryErrorText(error: unknown, sql: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const fault = told(message);
  if (fault === undefined) return oneLine(message);
  const place = fault.position === undefined || Number.isNaN(fault.position) ? '' : ` (${placeText(sql, fault.position)})`;
  const hint = fault.kind === 'Permission' ? ' A query reads the views events and all_events and nothing else.' : '';
  return `${fault.kind} error${place}: ${ended(oneLine(ownTable(fault.what)))}${hint}`;
}
