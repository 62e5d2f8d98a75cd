import { kafkaVariables, opensearchVariables, s3Variables, serviceVariables } from './tables.ts';
import { type VariableTable, variablesOf } from './variable.ts';

/** Ours as well, and read by what starts the services or by the tests. */
const ELSEWHERE = ['TAILRACE_JAVA', 'TAILRACE_OPENSEARCH', 'TAILRACE_E2E_MARK', 'TAILRACE_TEST_MARK'];

/** What Kubernetes and container links set by themselves for a service that bears one of our names (GATEWAY_PORT_8080_TCP, …). */
const SET_BY_OTHERS = /_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP)(_\w+)?)?$/;

/**
 * One sentence for each variable of `environment` that has a prefix of ours and that nothing reads: a slip of the fingers would leave
 * the default in force, and nobody would see it. Judged are `TAILRACE_` and the words with which the table's own names begin; another
 * service's are left to it.
 */
export function unknownVariables(table: VariableTable, environment: Readonly<Record<string, string | undefined>>): string[] {
  const shared = variablesOf({ service: serviceVariables, kafka: kafkaVariables, s3: s3Variables, opensearch: opensearchVariables });
  const sharedNames = new Set(shared.map(({ name }) => name));
  const own = variablesOf(table).map(({ name }) => name);
  // The indexer's variables begin with INDEX_: whoever writes INDEXER_ means them.
  const words = ['TAILRACE_', ...new Set(own.filter((name) => !sharedNames.has(name)).map(firstWord))];
  const known = new Set([...sharedNames, ...own, ...ELSEWHERE]);
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name) || !words.some((word) => firstWord(name).startsWith(word))) return [];
    if (SET_BY_OTHERS.test(name)) return [];
    return `${name} is set, and nothing reads it: it has no effect. The nearest name that this service has is ${nearest(name, own)}.`;
  });
}

function firstWord(name: string): string {
  return name.startsWith('TAILRACE_') ? 'TAILRACE_' : (name.split('_')[0] ?? name);
}

function nearest(name: string, among: readonly string[]): string {
  return [...among].sort((a, b) => distance(name, a) - distance(name, b))[0] ?? '';
}

/** How many characters must be put in, taken out or changed to come from one to the other (Levenshtein 1966). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, char] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= to.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (char === to[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
