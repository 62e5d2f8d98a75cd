/** A sum that stays a number in JSON: what is beyond the largest one is the largest one. */
export function finiteSum(a: number, b: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, a + b));
}
