import { TAILRACE } from '@tailrace/kafka-kit';
import { isGood, type Receipt, type StoredPlan } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';
import { readReplayerConfig } from './config.ts';
import { counted } from './offsets.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { receiptLines } from './receipt-lines.ts';
import { withReplays } from './replay-session.ts';
import { planNumbered, withStore } from './servers.ts';
import type { Settled } from './settle-run.ts';

/** `replay receipt`: what a replay did; puts the receipt when everything was applied and it does not stand yet. */
export async function receiptCommand(id: number, flags: JsonFlag, ports: Ports): Promise<number> {
  const config = readReplayerConfig(ports.environment);
  return await withStore(config, async (stored) => {
    const plan = await planNumbered(stored.plans, id);
    const runs = stored.runsInto(plan.into);
    const run = await runs.of(id);
    if (run === undefined) throw new ConfigError([`Plan ${id} was not run, so it has no receipt: ${TAILRACE} replay run ${id} sends it.`]);
    // One that stands is shown without Kafka.
    const there = await runs.receipt(run.id);
    if (there !== undefined) return tellReceipt(there, flags, ports);
    return await withReplays(config, ports, stored, plan.into, async ({ settle }) => tellSettled(await settle(plan), plan, flags, ports));
  });
}

export function tellSettled(settled: Settled | undefined, plan: StoredPlan, flags: JsonFlag, ports: Ports): number {
  if (settled?.kind === 'over') return tellReceipt(settled.receipt, flags, ports);
  const left = settled?.kind === 'applying' ? settled.left : null;
  const isStuck = settled?.kind === 'applying' && settled.isStuck;
  if (flags.json === true)
    ports.out(`${JSON.stringify({ plan: plan.id, into: plan.into, complete: false, sent: left !== null, left, stuck: isStuck })}\n`);
  else if (settled?.kind === 'sending' && settled.isCancelled)
    ports.out(
      `Plan ${plan.id} was cancelled, and what had been sent of it is not put down yet: ${TAILRACE} replay cancel ${plan.id} does that.\n`,
    );
  else if (left === null)
    ports.out(
      `Plan ${plan.id} is not all sent, so there is no receipt yet: where no command sends it any more, ${TAILRACE} replay run ${plan.id} goes on with it.\n`,
    );
  else if (isStuck)
    ports.out(
      `Plan ${plan.id} is sent, and ${counted(left, 'record')} of it ${left === 1 ? 'is' : 'are'} not applied, of which some can not come any more: the side channel was made anew, or its records were deleted. ${TAILRACE} replay cancel ${plan.id} ends it: the receipt comes when the rest is applied, and says how many are gone.\n`,
    );
  else
    ports.out(
      `Plan ${plan.id} is sent, and ${counted(left, 'record')} of it ${left === 1 ? 'is' : 'are'} not applied yet: the receipt comes when ${plan.into} has applied all.\n`,
    );
  return EXIT.finding;
}

/** Prints it; 1 where not everything was brought back. */
export function tellReceipt(receipt: Receipt, { json }: JsonFlag, ports: Ports): number {
  ports.out(json === true ? `${JSON.stringify({ complete: true, ...receipt })}\n` : `${receiptLines(receipt).join('\n')}\n`);
  return isGood(receipt) ? EXIT.good : EXIT.finding;
}
