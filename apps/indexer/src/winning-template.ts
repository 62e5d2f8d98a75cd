import type { SearchClient } from './search-client.ts';

interface Listed {
  readonly name: string;
  readonly index_template: { readonly index_patterns: readonly string[]; readonly priority?: number };
}

/** The index template that counts for a new index of this name: of those that match, the one with the highest priority. */
export async function winningTemplate(
  client: SearchClient,
  index: string,
  signal?: AbortSignal,
): Promise<{ readonly name: string; readonly priority: number } | undefined> {
  const body = await client.demand({ method: 'GET', path: '/_index_template' }, signal);
  const { index_templates: listed = [] } = body as { readonly index_templates?: readonly Listed[] };
  return listed
    .filter(({ index_template: { index_patterns: patterns } }) => patterns.some((pattern) => matches(pattern, index)))
    .map(({ name, index_template: { priority = 0 } }) => ({ name, priority }))
    .sort((a, b) => b.priority - a.priority)[0];
}

/** Whether a name fits an index pattern, in which `*` stands for anything. */
export function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.startsWith(first) && name.length - last.length >= at && name.endsWith(last);
}
