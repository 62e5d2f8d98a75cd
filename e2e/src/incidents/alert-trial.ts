import { ForeignProducer } from '@tailrace/kafka-kit/testing';
import type { Cluster } from '../cluster/cluster.ts';
import { until } from '../machine/until.ts';
import { kafkaSettings, TOPIC } from '../pipeline/endpoints.ts';
import { Processors } from './processors.ts';
import { AlertReceiver, notifiersText, type Told } from './receiver.ts';

/** One event as a trial writes it: its record's time is within the step. */
export interface TrialEvent {
  readonly service: string;
  readonly partition: number;
  readonly status: number;
  /** Its own time; the record's where it is not said. */
  readonly timestamp?: string;
}

export interface TrialOptions {
  readonly startMs: number;
  readonly rules: string;
  /** By the names of their channels; `receiver` alone where none are named. */
  readonly channels?: readonly string[];
  readonly report: (line: string) => void;
}

/** One pane: what is pushed at a time, and by which the clock of a processor goes on. */
export const STEP_MS = 10_000;
const TOLD_MS = 10_000;

/** One processor whose clock is in the hand, on a topic whose record times are the events' times, and who is told by it. */
export class AlertTrial {
  readonly processors: Processors;
  readonly receivers: ReadonlyMap<string, AlertReceiver>;
  readonly #producer: ForeignProducer;
  #nowMs: number;

  private constructor(cluster: Cluster, { startMs, report }: TrialOptions, receivers: ReadonlyMap<string, AlertReceiver>) {
    this.#nowMs = startMs;
    this.receivers = receivers;
    this.#producer = new ForeignProducer(kafkaSettings(cluster.endpoints));
    this.processors = new Processors(cluster, { members: 1, stages: 'together', clock: true, seed: 1, report }, this.receiver());
  }

  static async start(cluster: Cluster, options: TrialOptions): Promise<AlertTrial> {
    const { channels = ['receiver'], startMs, rules } = options;
    const receivers = new Map<string, AlertReceiver>();
    for (const channel of channels) receivers.set(channel, await AlertReceiver.start());
    const trial = new AlertTrial(cluster, options, receivers);
    try {
      await trial.processors.start({ startMs, rules, notifiers: notifiersText(Object.fromEntries(receivers)) });
      return trial;
    } catch (failed) {
      await trial.end();
      throw failed;
    }
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** That of a channel; the first one where none is named. */
  receiver(channel?: string): AlertReceiver {
    const found = channel === undefined ? [...this.receivers.values()][0] : this.receivers.get(channel);
    if (found === undefined) throw new Error(`there is no receiver ${channel}`);
    return found;
  }

  /** Writes events, spread over the next step, without moving the clock. */
  async write(events: readonly TrialEvent[]): Promise<void> {
    const apartMs = STEP_MS / Math.max(1, events.length);
    const records = events.map(({ service, partition, status, timestamp }, i) => {
      const atMs = this.#nowMs + Math.floor(i * apartMs);
      const event = { timestamp: timestamp ?? new Date(atMs).toISOString(), service, status_code: status };
      return { partition, key: null, value: Buffer.from(JSON.stringify(event)), headers: new Map(), timestampMs: BigInt(atMs) };
    });
    if (records.length > 0) await this.#producer.send(TOPIC, records);
  }

  /** Writes the events of one step, moves the clock to its end, and waits until all is decided. */
  async step(events: readonly TrialEvent[] = []): Promise<void> {
    await this.write(events);
    this.#nowMs += STEP_MS;
    await this.processors.reach(this.#nowMs);
  }

  /** The same without waiting: for a time in which not all can be decided. */
  async stepOn(events: readonly TrialEvent[]): Promise<void> {
    await this.write(events);
    this.#nowMs += STEP_MS;
    this.processors.tell(this.#nowMs);
  }

  /** Waits until something was told, by the clock on the wall, and gives it. */
  async told(rule: string, service: string, status: Told['status'], channel?: string): Promise<Told> {
    const { told } = this.receiver(channel);
    return await until(`${rule} of ${service} told as ${status}`, TOLD_MS, () =>
      [...told.values()].findLast((each) => each.rule === rule && each.group.service === service && each.status === status),
    );
  }

  /** Changes the rules' file, and waits until its rules hold: `/readyz` says since when they do. */
  async rewrite(rules: string): Promise<void> {
    const since = () =>
      Promise.all(this.processors.living.map(async (member) => /rules hold since [^"]+/.exec((await member.readyz()).text)?.[0]));
    const before = await since();
    this.processors.writeRules(rules);
    await until('the changed rules', TOLD_MS, async () =>
      (await since()).every((sentence, i) => sentence !== undefined && sentence !== before[i]),
    );
  }

  async end(): Promise<void> {
    await this.#producer.close();
    await this.processors.end();
    await Promise.all([...this.receivers.values()].map((receiver) => receiver.close()));
  }
}
