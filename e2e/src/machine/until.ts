import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 100;

/**
 * Looks again and again until `look` gives something other than undefined and false, and gives that back.
 * @throws Error that names what did not happen, and what the last look ran into
 */
export async function until<T>(what: string, limitMs: number, look: () => Promise<T> | T): Promise<Exclude<T, undefined | false>> {
  const endsAtMs = performance.now() + limitMs;
  let fault: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
      fault = undefined;
    } catch (thrown) {
      fault = thrown; // A server that is away now: told if it does not come back in time.
    }
    if (performance.now() > endsAtMs) {
      const why = fault === undefined ? '' : ` (${fault instanceof Error ? fault.message : String(fault)})`;
      throw new Error(`${what}: not within ${limitMs / 1000} s${why}.`, { cause: fault });
    }
    await delay(LOOK_MS);
  }
}
