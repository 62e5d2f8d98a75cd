/** How a body holds its events. `form` is NDJSON from a client that did not set a type, like curl without a header. */
export type BodyFormat = 'ndjson' | 'json' | 'form';

/** Only JSON says that the body is one value; every other type, known or not, and none at all mean one event per line. */
export function bodyFormatOf(contentType: string | undefined): BodyFormat {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || /^application\/[^/\s]+\+json$/.test(type)) return 'json';
  return type === 'application/x-www-form-urlencoded' ? 'form' : 'ndjson';
}

/** The one type under which each format is known. */
export const TYPE_OF: Readonly<Record<BodyFormat, string>> = {
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
};
