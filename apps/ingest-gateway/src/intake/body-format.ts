/**
 * How a body holds its events, as its content type says. `unknown` and `form` say nothing: the body itself decides. `form` is what
 * curl names without being told.
 */
export type BodyFormat = 'ndjson' | 'json' | 'form' | 'unknown';

/** The one type under which each format is known. */
export const TYPE_OF: Readonly<Record<BodyFormat, string>> = {
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  unknown: 'application/octet-stream',
};

/** The types that say how a body is read, beside `application/*+json`. NDJSON has no registered one. */
export const DECISIVE_TYPES: Readonly<Record<string, 'ndjson' | 'json'>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/x-jsonlines': 'ndjson',
};

export function bodyFormatOf(contentType: string | undefined): BodyFormat {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (Object.hasOwn(DECISIVE_TYPES, type)) return DECISIVE_TYPES[type] ?? 'unknown';
  if (/^application\/[^/\s]+\+json$/.test(type)) return 'json';
  return type === TYPE_OF.form ? 'form' : 'unknown';
}
