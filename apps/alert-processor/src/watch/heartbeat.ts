import { type Clock, reasonsOf } from '@tailrace/kafka-kit';
import { type HttpPost, postJson } from '../notify/http-post.ts';
import { Rounds } from './rounds.ts';

/** Something without which alerts can not be told. Says why it is not so now, in one sentence, or undefined. Must not throw. */
export type Vital = (nowMs: number) => string | undefined;

/** What became of one beat. `withheld`: alerts can not be told now, so the watchdog must notice that nothing comes. */
export type Beat = 'sent' | 'failed' | 'withheld';

export interface HeartbeatPorts {
  readonly clock: Clock;
  readonly vitals: readonly Vital[];
  readonly beat: (beat: Beat) => void;
  /** Told when a fault appears or becomes another one, and with `undefined` when all is well again. */
  readonly onChange: (fault: string | undefined) => void;
  readonly post?: (post: HttpPost) => ReturnType<typeof postJson>;
}

/** How often it is sent: watchdogs count in minutes. */
export const HEARTBEAT_MS = 10_000;
const POST_MS = 8000;
/** Alertmanager forgets a beat that is not repeated after so long. */
const GOOD_FOR_MS = 60_000;

/**
 * Tells a watchdog outside, every 10 s, that alerts can be told now; and nothing while they can not. So the alarm is its silence, which also comes
 * when this process, its machine or its network is gone.
 */
export class Heartbeat {
  readonly #url: URL;
  readonly #ports: HeartbeatPorts;
  readonly #rounds: Rounds;
  #said: string | undefined;

  constructor(url: URL, ports: HeartbeatPorts) {
    this.#url = url;
    this.#ports = ports;
    this.#rounds = new Rounds(ports.clock, HEARTBEAT_MS, (signal) => this.#beat(signal));
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  async #beat(stopping: AbortSignal): Promise<void> {
    const { clock, vitals, beat } = this.#ports;
    const nowMs = clock.nowMs();
    const faults = vitals.flatMap((vital) => vital(nowMs) ?? []);
    if (faults.length > 0) {
      beat('withheld');
      this.#say(`the heartbeat is withheld: ${faults.join('; ')}`);
      return;
    }
    const fault = await this.#send(nowMs, stopping);
    if (stopping.aborted) return;
    beat(fault === undefined ? 'sent' : 'failed');
    this.#say(fault === undefined ? undefined : `the heartbeat does not reach its receiver (ALERT_HEARTBEAT_URL): ${fault}`);
  }

  #say(fault: string | undefined): void {
    // Durations and counts change from beat to beat: a fault that stays is told once.
    const kind = fault?.replaceAll(/\d+/g, '#');
    if (kind === this.#said) return;
    this.#said = kind;
    this.#ports.onChange(fault);
  }

  async #send(nowMs: number, stopping: AbortSignal): Promise<string | undefined> {
    const { post = postJson } = this.#ports;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(POST_MS)]);
    try {
      // Who runs this process names the receiver, and may have it in a private network.
      const { status } = await post({ url: this.#url, body: heartbeatBody(nowMs), allowPrivate: true, signal });
      return status >= 200 && status < 300 ? undefined : `it answered ${status}`;
    } catch (fault) {
      return reasonsOf(fault);
    }
  }
}

/**
 * A list of one alert, as Alertmanager's API takes it (v2, POST /api/v2/alerts): a watchdog that always fires. Receivers that only count posts
 * (Healthchecks, Dead Man's Snitch) take any body.
 */
export function heartbeatBody(nowMs: number): string {
  const alert = {
    labels: { alertname: 'TailraceHeartbeat', severity: 'none', service: 'alert-processor' },
    annotations: { summary: 'tailrace can tell alerts now. When this stops, it can not.' },
    endsAt: new Date(nowMs + GOOD_FOR_MS).toISOString(),
  };
  return JSON.stringify([alert]);
}
