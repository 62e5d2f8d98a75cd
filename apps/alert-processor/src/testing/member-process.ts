import { reasonsOf, systemClock } from '@tailrace/kafka-kit';
import { createLogger } from '@tailrace/service';
import type { Stage, StageOptions, StageSink } from '../stages/open-stage.ts';

type MemberOptions = Pick<StageOptions, 'stopMs' | 'maxPollIntervalMs' | 'nowMs' | 'log' | 'signal' | 'observe'>;

/** What stages that run as processes of tests have in common; each partition that one reads is a line of its output. */
export function memberOptions(name: string): MemberOptions {
  return {
    stopMs: 10_000,
    maxPollIntervalMs: 60_000,
    nowMs: systemClock.nowMs,
    log: createLogger({ name, level: 'warn' }),
    signal: new AbortController().signal,
    observe(event) {
      if (event.kind === 'lane-opened') process.stdout.write(`reads ${event.lane.partition}\n`);
    },
  };
}

/** Runs until it is told to end, or whoever started it is gone. */
export async function runMember(stage: Pick<Stage<StageSink>, 'runtime' | 'close'>): Promise<never> {
  process.once('SIGTERM', () => void stage.close(10_000).then(() => process.exit(0)));
  // As the service ends: its client can not go on.
  stage.runtime.finished.catch((fault: unknown) => process.stdout.write(`${reasonsOf(fault)}\n`, () => process.exit(1)));
  process.stdin.on('end', () => process.exit(1)).resume();
  for (;;) await systemClock.sleep(60_000);
}
