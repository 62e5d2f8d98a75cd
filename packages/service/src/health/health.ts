/** `degraded`: it works, but something needs a look. `not-ready`: send no work here. */
export type CheckState = 'ok' | 'degraded' | 'not-ready';

/** What a check found, with one sentence for the person who looks. */
export interface Check {
  readonly state: CheckState;
  readonly sentence: string;
}

export interface HealthReport {
  readonly state: CheckState;
  readonly checks: readonly (Check & { readonly name: string })[];
}

const GRAVITY: readonly CheckState[] = ['ok', 'degraded', 'not-ready'];

/** The checks of a process. A check reads what its component already knows; it must not ask a server, because probes come often. */
export class Health {
  readonly #checks = new Map<string, () => Check>();

  /** Adds a check, or puts another one in its place. */
  set(name: string, check: () => Check): void {
    this.#checks.set(name, check);
  }

  report(): HealthReport {
    const checks = [...this.#checks].map(([name, check]) => ({ name, ...resultOf(check) }));
    const gravity = Math.max(0, ...checks.map(({ state }) => GRAVITY.indexOf(state)));
    return { state: GRAVITY[gravity] ?? 'not-ready', checks };
  }
}

function resultOf(check: () => Check): Check {
  try {
    return check();
  } catch (fault) {
    // A check that fails knows nothing, and "nothing known" must not look like "ready". The probe's reader sees why.
    return { state: 'not-ready', sentence: `The check itself failed: ${fault instanceof Error ? fault.message : String(fault)}` };
  }
}
