import { setTimeout as sleep } from 'node:timers/promises';
import { TAILRACE } from '@tailrace/kafka-kit';
import { planMark } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';
import { readReplayerConfig } from './config.ts';
import { closeSending } from './plan-sender.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { tellSettled } from './receipt-command.ts';
import { KafkaReplayChannel } from './replay-channel.ts';
import { withReplays } from './replay-session.ts';
import { planNumbered, withStore } from './servers.ts';

/** A sender that runs looks once a second, and then has to say what it had sent. */
const SENDER_MS = 10_000;
const LOOK_MS = 500;

/**
 * `replay cancel`: stops the sending of a plan, and lets later runs go on. What is on the side channel is still applied, and the receipt says so; what
 * is gone from there is not waited for.
 */
export async function cancelCommand(id: number, flags: JsonFlag, ports: Ports): Promise<number> {
  const config = readReplayerConfig(ports.environment);
  return await withStore(config, async (stored) => {
    const plan = await planNumbered(stored.plans, id);
    const runs = stored.runsInto(plan.into);
    const run = await runs.of(id);
    if (run === undefined) throw new ConfigError([`Plan ${id} was not run: there is nothing to cancel.`]);
    if (run.hasReceipt) throw nothingLeft(id);
    // Before Kafka is asked: who sends it looks here alone.
    if (!run.isSent) await runs.cancel(run.id, { cancelledAtMs: ports.nowMs() });
    return await withReplays(config, ports, stored, plan.into, async ({ admin, settings, state, settle }) => {
      if (run.isSent) {
        if ((await settle(plan))?.kind === 'over') throw nothingLeft(id);
        await runs.cancel(run.id, { cancelledAtMs: ports.nowMs() });
      }
      const endMs = ports.nowMs() + SENDER_MS;
      while ((await runs.sent(run.id)) === undefined && ports.nowMs() < endMs) await sleep(LOOK_MS, undefined, { signal: ports.signal });
      if ((await runs.sent(run.id)) === undefined) {
        // Nobody sends it any more.
        const channel = await KafkaReplayChannel.open(plan.into, settings, admin, plan.partitions);
        try {
          await state.refresh();
          const sent = (topic: string, partition: number) => state.sent(planMark(plan), topic, partition);
          await runs.putSent(run.id, await closeSending(plan, { channel, sent, nowMs: ports.nowMs }));
        } finally {
          await channel.close();
        }
      }
      const wasWhole = (await runs.sent(run.id))?.cancelled === false;
      if (flags.json !== true)
        ports.out(
          `Plan ${id} is cancelled: ${wasWhole ? 'all of it was sent, and no later run waits for it' : 'nothing more of it is sent'}.\n`,
        );
      const settled = await settle(plan);
      tellSettled(settled, plan, flags, ports);
      // It did what it was told to; whether the window is whole is what `receipt` answers.
      return EXIT.good;
    });
  });
}

function nothingLeft(id: number): ConfigError {
  return new ConfigError([
    `Plan ${id} is sent and over: there is nothing left to cancel, and ${TAILRACE} replay receipt ${id} shows what it did.`,
  ]);
}
