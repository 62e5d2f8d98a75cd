import { seededRandom } from '@tailrace/events';
import { ForeignProducer } from '@tailrace/kafka-kit/testing';
import type { Cluster } from '../cluster/cluster.ts';
import { kafkaSettings, TOPIC } from '../pipeline/endpoints.ts';
import { STEP_MS } from './alert-trial.ts';
import { eventsOf } from './events-of.ts';
import { type IncidentPlan, rulesText } from './plan.ts';
import { Processors } from './processors.ts';
import { AlertReceiver } from './receiver.ts';

/**
 * What is done to the processor while events are pushed. `mid-send`: killed when the receiver has a notification and has not answered yet. `replay`: all
 * that was pushed is replayed into the indexer.
 */
export type PushFault = 'kill' | 'mid-send' | 'join' | 'leave' | 'broker' | 'replay';

export interface PushOptions {
  readonly plan: IncidentPlan;
  /** Processes, of which each runs both stages, or the stages apart. */
  readonly members: number;
  readonly stages: 'together' | 'apart';
  /** So many of each, at moments that the plan's seed decides. */
  readonly faults: Readonly<Partial<Record<PushFault, number>>>;
  readonly report: (line: string) => void;
}

/** Traffic goes on behind the plan, so that windows close and ends are told. */
const TAIL_MS = 4 * 60_000;

/**
 * Pushes a plan's events as fast as they are taken, on a topic whose record times are the events' times, with the processor's clock at the end of
 * each step. Resolves with the receiver that was told, still open.
 */
export async function pushIncidents(cluster: Cluster, options: PushOptions): Promise<AlertReceiver> {
  const { plan } = options;
  const receiver = await AlertReceiver.start();
  const processors = new Processors(cluster, { ...options, clock: true, seed: plan.seed }, receiver);
  const producer = new ForeignProducer(kafkaSettings(cluster.endpoints));
  try {
    await processors.start({ startMs: plan.startMs, rules: rulesText(plan), notifiers: receiver.notifiersText });
    const due = faultsOf(options);
    for (let atMs = plan.startMs; atMs < plan.endMs + TAIL_MS; atMs += STEP_MS) {
      for (const fault of due.get(atMs) ?? []) await processors.meet(fault);
      const events = eventsOf(plan, atMs, atMs + STEP_MS);
      const records = events.map(({ atMs: eventMs, ...record }) => ({ ...record, timestampMs: BigInt(eventMs), headers: new Map() }));
      await producer.send(TOPIC, records);
      await processors.reach(atMs + STEP_MS);
    }
    return receiver;
  } catch (fault) {
    await receiver.close();
    throw fault;
  } finally {
    await producer.close();
    await processors.end();
  }
}

/** Which faults come before which step. */
function faultsOf({ plan, faults }: PushOptions): ReadonlyMap<number, readonly PushFault[]> {
  const random = seededRandom(plan.seed + 1);
  const steps = Math.floor((plan.endMs - plan.startMs) / STEP_MS);
  const due = new Map<number, PushFault[]>();
  for (const [fault, times] of Object.entries(faults) as [PushFault, number][]) {
    for (let i = 0; i < times; i++) {
      const atMs = plan.startMs + Math.floor(random.next() * steps) * STEP_MS;
      due.set(atMs, [...(due.get(atMs) ?? []), fault]);
    }
  }
  return due;
}
