/** What a fault says and what its causes say, each once, from the outside in: clients put general words around the reason. */
export function reasonsOf(fault: unknown): string {
  const said = new Set<string>();
  const collect = (each: unknown): void => {
    if (!(each instanceof Error)) return;
    said.add(each.message.split('\n')[0] ?? '');
    if (each instanceof AggregateError) each.errors.forEach(collect);
    collect(each.cause);
  };
  collect(fault);
  said.delete('');
  return said.size === 0 ? String(fault) : [...said].join(': ');
}
