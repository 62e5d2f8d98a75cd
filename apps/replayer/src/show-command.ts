import { bothTimes, lookAtSources } from '@tailrace/lake';
import { readReplayerConfig } from './config.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { stateOf, stateWords } from './run-state.ts';
import { planNumbered, withServers } from './servers.ts';
import { tellPlan } from './tell-plan.ts';

/** `replay show`: a plan, what holds its offsets now, and what became of it. */
export async function showCommand(id: number, flags: JsonFlag, ports: Ports): Promise<number> {
  return await withServers(readReplayerConfig(ports.environment), async ({ ledger, plans, kafka, runsInto }) => {
    const found = await planNumbered(plans, id);
    const state = stateOf(await runsInto(found.into).of(id));
    const sources = await lookAtSources(ledger, kafka, ports.topics);
    tellPlan(ports, flags, { ...found, state }, sources, [`Plan ${id}, made ${bothTimes(found.madeAtMs)}: ${stateWords(state, id)}`]);
    return EXIT.good;
  });
}
