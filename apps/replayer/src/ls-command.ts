import { TAILRACE } from '@tailrace/kafka-kit';
import { bothTimes, isGood, type ReplayRun, type StoredPlan } from '@tailrace/lake';
import { readReplayerConfig } from './config.ts';
import { total } from './offsets.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { outcomeWords } from './receipt-lines.ts';
import { withReplays } from './replay-session.ts';
import { type PlanState, stateOf } from './run-state.ts';
import { type Stored, withStore } from './servers.ts';

const WORDS: Readonly<Record<PlanState, string>> = {
  planned: 'not sent yet',
  begun: 'run, and not all sent yet',
  sent: 'all sent, not all applied yet',
  cancelled: 'cancelled, not all applied yet',
  done: 'over',
};

/** `replay ls`: the plans, and what became of each. Puts the receipts that can be put. */
export async function listCommand({ json }: JsonFlag, ports: Ports): Promise<number> {
  const config = readReplayerConfig(ports.environment);
  return await withStore(config, async (stored) => {
    const plans: StoredPlan[] = [];
    for await (const plan of stored.plans.list()) plans.push(plan);
    const runs = await runsOf(plans, stored);
    for (const consumer of new Set(plans.map(({ into }) => into))) {
      const open = plans.filter(({ id, into }) => into === consumer && isOpen(runs.get(id)));
      if (open.length === 0) continue;
      await withReplays(config, ports, stored, consumer, async ({ settle }) => {
        for (const plan of open) await settle(plan);
      });
    }
    const now = await runsOf(plans, stored);
    const shown = await Promise.all(
      plans.map(async ({ id, madeAtMs, into, window, partitions }) => {
        const run = now.get(id);
        const offsets = total(partitions.flatMap(({ ranges }) => ranges));
        const receipt = run?.hasReceipt === true ? await stored.runsInto(into).receipt(run.id) : undefined;
        const outcome = receipt === undefined ? {} : { good: isGood(receipt), outcome: outcomeWords(receipt) };
        return { id, madeAtMs, into, window, partitions: partitions.length, offsets, state: stateOf(run), ...outcome };
      }),
    );
    if (json === true) ports.out(`${JSON.stringify({ plans: shown })}\n`);
    else if (shown.length === 0) ports.out(`There is no plan yet: ${TAILRACE} replay plan --help says how to make one.\n`);
    else
      for (const { id, madeAtMs, into, window, offsets, state, outcome } of shown)
        ports.out(
          `Plan ${id}, made ${bothTimes(madeAtMs)}: from ${bothTimes(window.fromMs)} up to ${bothTimes(window.toMs)}, into ${into}, ${offsets} offsets; ${WORDS[state]}${outcome === undefined ? '' : `: ${outcome}`}.\n`,
        );
    return EXIT.good;
  });
}

/** Everything was sent, and there is no receipt. */
function isOpen(run: ReplayRun | undefined): boolean {
  return run?.isSent === true && !run.hasReceipt;
}

/** The runs by the numbers of their plans. */
async function runsOf(plans: readonly StoredPlan[], stored: Stored): Promise<ReadonlyMap<number, ReplayRun>> {
  const runs = new Map<number, ReplayRun>();
  for (const consumer of new Set(plans.map(({ into }) => into)))
    for (const run of await stored.runsInto(consumer).list()) runs.set(run.order.plan, run);
  return runs;
}
