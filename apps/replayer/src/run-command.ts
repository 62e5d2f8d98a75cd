import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { TAILRACE } from '@tailrace/kafka-kit';
import { bothTimes, type ReplayRun, type ReplaySource, type StoredPlan } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';
import { readReplayerConfig } from './config.ts';
import { dryRun } from './dry-run.ts';
import { withLiveGuard } from './live-guard.ts';
import { offsets } from './offsets.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { tellReceipt, tellSettled } from './receipt-command.ts';
import { type ReplaySession, withReplays } from './replay-session.ts';
import { sendPlan } from './send-plan.ts';
import { planNumbered, type Stored, withStore } from './servers.ts';

export interface RunFlags extends JsonFlag {
  readonly source?: ReplaySource;
  readonly rate?: number;
  readonly maxUnread: number;
  readonly detach?: boolean;
  readonly dryRun?: boolean;
}

const LOOK_MS = 1000;

/** `replay run`: sends a plan onto the side channel of its consumer, goes on with one that was begun, and waits until all is applied. */
export async function runCommand(id: number, flags: RunFlags, ports: Ports): Promise<number> {
  const config = readReplayerConfig(ports.environment);
  return await withStore(config, async (stored) => {
    const plan = await planNumbered(stored.plans, id);
    warnOfHoles(plan, ports);
    if (flags.dryRun === true) return await dryRun(plan, flags, config, stored, ports);
    return await withReplays(config, ports, stored, plan.into, async (session) => {
      const { runs } = session;
      const run = await runs.order({ attempt: randomUUID(), plan: id, madeAtMs: ports.nowMs() });
      try {
        const { isSent } = await turnOf(run, plan, stored, session, ports);
        if (!isSent) {
          const work = { plan, run, flags, config, stored, session, ports };
          await withLiveGuard(
            session.settings,
            ports.topics,
            (sentence) => ports.note(`${sentence}\n`),
            (guard) => sendPlan({ ...work, guard }),
          );
        }
        if (flags.detach === true) return tellDetached(plan, flags, ports);
        return await applied(plan, flags, session, ports);
      } catch (fault) {
        if (!ports.signal.aborted) throw fault;
        ports.note(`Interrupted: ${TAILRACE} replay run ${id} goes on where it stopped, and ${TAILRACE} replay cancel ${id} ends it.\n`);
        return EXIT.interrupted;
      }
    });
  });
}

function warnOfHoles({ partitions }: StoredPlan, ports: Ports): void {
  for (const { topic, partition, missing } of partitions)
    for (const hole of missing)
      if (hole.kind === 'hole') ports.note(`Of ${topic}, partition ${partition}, ${offsets(hole)} are gone and will not be sent.\n`);
}

function refuseOver({ hasReceipt, isCancelled }: ReplayRun, { id }: StoredPlan): void {
  const anew = `To send the window once more, make a new plan; ${TAILRACE} replay receipt ${id} shows what this one did.`;
  if (isCancelled) throw new ConfigError([`Plan ${id} was cancelled. ${anew}`]);
  if (hasReceipt) throw new ConfigError([`Plan ${id} was run already. ${anew}`]);
}

/** Waits while an earlier run into the same consumer is neither over nor cancelled. Gives the run as it is then. */
async function turnOf(run: ReplayRun, plan: StoredPlan, stored: Stored, { runs, settle }: ReplaySession, ports: Ports): Promise<ReplayRun> {
  let told: number | undefined;
  for (;;) {
    const all = await runs.list();
    const own = all.find(({ id }) => id === run.id) ?? run;
    // It may have been cancelled while it waited.
    refuseOver(own, plan);
    const before = all.find((each) => each.id < run.id && !each.hasReceipt && !each.isCancelled);
    if (before === undefined) return own;
    const other = await stored.plans.get(before.order.plan);
    // It may be over, and nobody has looked yet.
    if (other !== undefined && (await settle(other))?.kind === 'over') continue;
    if (told !== before.id)
      ports.note(
        `Plan ${before.order.plan} into ${plan.into}, begun ${bothTimes(before.order.madeAtMs)}, is not over yet, and one replay at a time goes into a consumer: waiting for it (${TAILRACE} replay receipt ${before.order.plan} shows how it stands, ${TAILRACE} replay cancel ${before.order.plan} ends it).\n`,
      );
    told = before.id;
    await sleep(LOOK_MS, undefined, { signal: ports.signal });
  }
}

function tellDetached({ id, into }: StoredPlan, { json }: RunFlags, ports: Ports): number {
  if (json === true) ports.out(`${JSON.stringify({ plan: id, into, sent: true })}\n`);
  else ports.out(`Plan ${id} is sent, and ${into} applies it: ${TAILRACE} replay receipt ${id} shows when it is done.\n`);
  return EXIT.good;
}

/** Waits until everything that was sent is applied, and shows the receipt. */
async function applied(plan: StoredPlan, flags: RunFlags, { settle }: ReplaySession, ports: Ports): Promise<number> {
  let told = false;
  for (;;) {
    const settled = await settle(plan);
    if (settled?.kind === 'over') return tellReceipt(settled.receipt, flags, ports);
    if (settled?.kind !== 'applying' || settled.isStuck) return tellSettled(settled, plan, flags, ports);
    if (!told) ports.note(`All sent; waiting until ${plan.into} has applied it (Ctrl-C ends the waiting, not the applying).\n`);
    told = true;
    await sleep(LOOK_MS, undefined, { signal: ports.signal });
  }
}
