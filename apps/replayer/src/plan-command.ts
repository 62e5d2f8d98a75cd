import { randomUUID } from 'node:crypto';
import { TAILRACE } from '@tailrace/kafka-kit';
import { bothTimes, lookAtWindow, type PlanWindow, planReplay, type ReplayPlan, replayWindow, STREAM, spanOf } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';
import { readReplayerConfig } from './config.ts';
import { type PlanFlags, planRequest, refuseSkipped } from './plan-request.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { planRefusal } from './refusals.ts';
import { withServers } from './servers.ts';
import { tellPlan } from './tell-plan.ts';

export type PlanCommandFlags = PlanFlags & JsonFlag & { readonly dryRun?: boolean };

/** `replay plan`: resolves a window into offsets, and freezes them. */
export async function planCommand(flags: PlanCommandFlags, ports: Ports): Promise<number> {
  const config = readReplayerConfig(ports.environment);
  const request = planRequest(flags, ports.nowMs());
  return await withServers(config, async ({ ledger, plans, kafka }) => {
    const sources = await lookAtWindow(ledger, kafka, ports.topics, request.window);
    const planning = planReplay(request.window, sources);
    if (planning.kind !== 'planned') throw new ConfigError([planRefusal(planning, request.window)]);
    refuseSkipped(request, ports.nowMs(), config.indexRetentionDays);
    const made: ReplayPlan = {
      attempt: randomUUID(),
      madeAtMs: ports.nowMs(),
      stream: STREAM,
      ...request,
      partitions: planning.partitions,
    };
    const isEmpty = made.partitions.every(({ ranges }) => ranges.length === 0);
    const id = flags.dryRun === true || isEmpty ? null : await plans.put(made);
    const last = isEmpty
      ? 'Nothing was stored: no record of the window is left to be read.'
      : id === null
        ? 'Nothing was stored, as asked for by --dry-run.'
        : `Stored as plan ${id}: ${TAILRACE} replay show ${id} shows it again, and ${TAILRACE} replay run ${id} sends it.`;
    tellPlan(ports, flags, { id, ...made }, sources, [...beforeAll(request.window, replayWindow(sources).oldestMs), last]);
    const holes = made.partitions.some(({ missing }) => missing.some(({ kind }) => kind === 'hole'));
    return isEmpty || holes ? EXIT.finding : EXIT.good;
  });
}

/** That the window begins before anything that can be had: half of what is looked for may be gone, or there never was more. */
function beforeAll(window: PlanWindow, oldestMs: number | null): string[] {
  if (oldestMs === null || spanOf(window).fromMs >= oldestMs) return [];
  return [`Of the window nothing can be had from before ${bothTimes(oldestMs)}: the oldest record that is left anywhere arrived then.`];
}
