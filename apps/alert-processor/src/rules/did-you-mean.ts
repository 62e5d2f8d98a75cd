/** ` (did you mean x?)` where one of the names is near, else nothing. */
export function didYouMean(given: string, names: readonly string[]): string {
  if (given === '' || given.length > 40) return '';
  const near = names.map((name) => ({ name, distance: editDistance(given.toLowerCase(), name.toLowerCase()) }));
  const [nearest] = near.sort((a, b) => a.distance - b.distance);
  return nearest !== undefined && nearest.distance <= Math.max(1, Math.floor(nearest.name.length / 3))
    ? ` (did you mean ${nearest.name}?)`
    : '';
}

/** How many letters must be put in, taken out, changed or swapped with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (last[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, changed, swapped));
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
