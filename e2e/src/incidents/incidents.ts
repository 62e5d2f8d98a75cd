import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../cluster/cluster.ts';
import { TOPIC } from '../pipeline/endpoints.ts';
import { Findings } from '../proof/findings.ts';
import { RESULTS_FOLDER } from '../report.ts';
import { PostClient } from '../traffic/post.ts';
import { STEP_MS } from './alert-trial.ts';
import { eventsOf } from './events-of.ts';
import { type IncidentPlan, planIncidents, rulesText } from './plan.ts';
import { Processors } from './processors.ts';
import { type PushFault, pushIncidents } from './push.ts';
import { AlertReceiver } from './receiver.ts';
import { judge, tellings } from './verdict.ts';

export interface IncidentsOptions {
  readonly minutes: number;
  readonly ofEachKind: number;
  readonly seed: number;
  readonly ways: readonly Way[];
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

export interface IncidentsResult {
  readonly table: readonly (readonly [what: string, value: string])[];
  readonly findings: readonly string[];
}

interface WayRow {
  readonly about: string;
  readonly members: number;
  readonly stages: 'together' | 'apart';
  readonly faults: Readonly<Partial<Record<PushFault, number>>>;
}

/** In what ways the same traffic is pushed. Each must tell the same. */
const WAYS = {
  calm: { about: 'one process', members: 1, stages: 'together', faults: {} },
  kills: {
    about: 'two processes, killed -9, also between a notification and its answer',
    members: 2,
    stages: 'together',
    faults: { kill: 6, 'mid-send': 3 },
  },
  apart: { about: 'the stages in processes of their own, killed -9', members: 1, stages: 'apart', faults: { kill: 8, 'mid-send': 2 } },
  rebalances: { about: 'three processes, others join and leave', members: 3, stages: 'together', faults: { join: 3, leave: 3 } },
  broker: { about: 'the broker killed -9', members: 1, stages: 'together', faults: { broker: 2 } },
  replay: { about: 'the window replayed into the indexer meanwhile', members: 1, stages: 'together', faults: { replay: 1 } },
} as const satisfies Record<string, WayRow>;

export type Way = keyof typeof WAYS | 'live';

const LOGS = join(RESULTS_FOLDER, 'incidents-logs');
const MINUTE_MS = 60_000;
/** Windows of five minutes begin and end at whole ones: two runs of a seed must cut the traffic at the same places. */
const ALIGNED_MS = 10 * MINUTE_MS;
/** How often live traffic is posted, and how long it goes on behind the plan. */
const LIVE_STEP_MS = 250;
const LIVE_TAIL_MS = 4 * MINUTE_MS;

/** Lets the same incidents happen in each way, and holds what was told against them. After a finding the logs of that way are kept. */
export async function incidents(options: IncidentsOptions): Promise<IncidentsResult> {
  rmSync(LOGS, { recursive: true, force: true });
  const table: (readonly [string, string])[] = [['seed', String(options.seed)]];
  const findings: string[] = [];
  let first: { readonly way: Way; readonly told: readonly string[] } | undefined;
  for (const way of options.ways) {
    const begunMs = performance.now();
    const { told, wrong, alerts } = await oneWay(way, options);
    const took = `${Math.round((performance.now() - begunMs) / 1000)} s`;
    table.push([way, `${alerts} notifications, ${wrong.length === 0 ? 'each incident told once' : `${wrong.length} findings`}, ${took}`]);
    findings.push(...wrong.map((line) => `${way}: ${line}`));
    // Live, events meet panes at other places.
    if (way === 'live') continue;
    if (first === undefined) first = { way, told };
    else if (String(first.told) !== String(told))
      findings.push(`${way} told other alerts than ${first.way}: ${differences(first.told, told)}`);
  }
  return { table, findings };
}

function differences(a: readonly string[], b: readonly string[]): string {
  const only = (from: readonly string[], other: readonly string[], sign: string) =>
    from.filter((line) => !other.includes(line)).map((line) => `${sign} ${line}`);
  return [...only(a, b, '-'), ...only(b, a, '+')].slice(0, 6).join('; ');
}

interface Outcome {
  readonly told: readonly string[];
  readonly wrong: readonly string[];
  readonly alerts: number;
}

async function oneWay(way: Way, options: IncidentsOptions): Promise<Outcome> {
  const { signal, report } = options;
  const cluster = await Cluster.start({ brokers: 1, jit: 'fast-start', signal, report });
  let kept = true;
  try {
    const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    const failed = cluster.stack.failed.then((failure) => {
      throw failure;
    });
    const outcome = await Promise.race([way === 'live' ? live(cluster, options) : pushed(cluster, way, options), stopped, failed]);
    kept = outcome.wrong.length > 0;
    return outcome;
  } finally {
    // Before the folder goes.
    if (kept && existsSync(cluster.stack.folder)) cpSync(join(cluster.stack.folder, 'logs'), join(LOGS, way), { recursive: true });
    if (kept) report(`the logs of this run are kept in ${LOGS}`);
    await cluster.stop();
  }
}

async function pushed(cluster: Cluster, way: keyof typeof WAYS, { minutes, ofEachKind, seed, report }: IncidentsOptions): Promise<Outcome> {
  await cluster.admin.apply([
    { kind: 'set-config', topic: TOPIC, name: 'message.timestamp.type', from: 'LogAppendTime', to: 'CreateTime' },
  ]);
  // In the past: the broker's own times on the partials stay behind the clock.
  const startMs = Math.floor((Date.now() - (minutes + 10) * MINUTE_MS) / ALIGNED_MS) * ALIGNED_MS;
  const plan = planIncidents({ seed, startMs, minutes, ofEachKind });
  report(`${way}: ${WAYS[way].about}; ${plan.incidents.length} incidents in ${minutes} minutes of ${plan.services.length} services`);
  const receiver = await pushIncidents(cluster, { plan, ...WAYS[way], report: (line) => report(`${way}: ${line}`) });
  return outcomeOf(plan, receiver);
}

/** In real time, through the gateway. */
async function live(cluster: Cluster, { minutes, ofEachKind, seed, signal, report }: IncidentsOptions): Promise<Outcome> {
  const gateway = cluster.join('ingest-gateway');
  await gateway.ready();
  const receiver = await AlertReceiver.start();
  const processors = new Processors(cluster, { members: 1, stages: 'together', clock: false, seed, report }, receiver);
  const client = new PostClient(() => gateway.gatewayUrl);
  const findings = new Findings();
  try {
    // A whole pane: traffic that begins within one is, against the window in which it began, a surge.
    const startMs = Math.ceil((Date.now() + MINUTE_MS / 2) / STEP_MS) * STEP_MS;
    const plan = planIncidents({ seed, startMs, minutes, ofEachKind });
    await processors.start({ startMs, rules: rulesText(plan), notifiers: receiver.notifiersText });
    report(`live: ${plan.incidents.length} incidents in the next ${minutes} minutes`);
    let postedMs = startMs;
    while (postedMs < plan.endMs + LIVE_TAIL_MS) {
      await delay(LIVE_STEP_MS, undefined, { signal });
      // Whole seconds: of a part of one no events are made.
      const untilMs = Math.floor(Date.now() / 1000) * 1000;
      if (untilMs <= postedMs) continue;
      const events = eventsOf(plan, postedMs, untilMs);
      const { answered } = await client.post(events.map(({ value }) => value));
      if (answered !== 'accepted') findings.add('posts not accepted', answered);
      postedMs = untilMs;
    }
    const outcome = await outcomeOf(plan, receiver);
    return { ...outcome, wrong: [...findings.lines, ...outcome.wrong] };
  } finally {
    client.close();
    await receiver.close();
    await processors.end();
  }
}

async function outcomeOf(plan: IncidentPlan, receiver: AlertReceiver): Promise<Outcome> {
  await receiver.close();
  return { told: tellings(plan, receiver), wrong: judge(plan, receiver).lines, alerts: receiver.told.size };
}
