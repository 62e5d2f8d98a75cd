/** Events that the gateway has answered for, whoever posted them; tailrace's own canaries are none. */
export interface GatewayCounts {
  readonly accepted: number;
  readonly rejected: number;
}

interface Look {
  /** The process that was asked: another one counts from zero again. */
  readonly pid: number | undefined;
  readonly counts: GatewayCounts;
}

const NONE: GatewayCounts = { accepted: 0, rejected: 0 };
const LOOK_TIMEOUT_MS = 2_000;

/**
 * Counts what the gateway has accepted and rejected since this start, from its own metrics: others post to it, too. What a process
 * took between the last look and its end is not counted.
 */
export class GatewayTotals {
  readonly #gateway: { readonly pid: number | undefined; url(server: 'gateway'): string | undefined };
  /** What processes that have ended had counted when they were last looked at. */
  #ended: GatewayCounts = NONE;
  #last: Look = { pid: undefined, counts: NONE };

  constructor(gateway: { readonly pid: number | undefined; url(server: 'gateway'): string | undefined }) {
    this.#gateway = gateway;
  }

  /** Asks the gateway. Rejects while it does not answer. */
  async read(): Promise<GatewayCounts> {
    const { pid } = this.#gateway;
    const url = this.#gateway.url('gateway');
    if (url === undefined) throw new Error('the gateway is not started');
    const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) });
    const counts = countsIn(await response.text());
    if (this.#last.pid !== pid) this.#ended = sum(this.#ended, this.#last.counts);
    this.#last = { pid, counts };
    return sum(this.#ended, counts);
  }
}

/** Reads the counts out of Prometheus text. Throws where they are missing: a missing number is no zero. */
export function countsIn(metrics: string): GatewayCounts {
  const count = (name: string, labels: string, what: string): number => {
    const value = new RegExp(`^tailrace_gateway_${name}_total${labels} (\\S+)$`, 'm').exec(metrics)?.[1];
    if (value === undefined) throw new Error(`the gateway's metrics do not count ${what} events`);
    return Number(value);
  };
  const of = (outcome: 'accepted' | 'rejected'): number => count('events', `\\{outcome="${outcome}"\\}`, outcome);
  const [accepted, rejected] = [of('accepted'), of('rejected')];
  return { accepted: accepted - count('canary_events', '', 'canary'), rejected };
}

function sum(a: GatewayCounts, b: GatewayCounts): GatewayCounts {
  return { accepted: a.accepted + b.accepted, rejected: a.rejected + b.rejected };
}
