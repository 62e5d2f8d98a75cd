import { lookAtSources, replayWindow } from '@tailrace/lake';
import { readReplayerConfig } from './config.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { withServers } from './servers.ts';
import { windowLines } from './window-lines.ts';

/** `replay window`: from when on each partition can be replayed. */
export async function windowCommand({ json }: JsonFlag, ports: Ports): Promise<number> {
  return await withServers(readReplayerConfig(ports.environment), async ({ ledger, kafka }) => {
    const found = replayWindow(await lookAtSources(ledger, kafka, ports.topics));
    const holes = found.partitions.reduce((sum, each) => sum + each.holes.length, 0);
    const nowMs = ports.nowMs();
    const value = { ...found, holes, trueForMs: found.sinceMs === null ? null : nowMs - found.sinceMs };
    ports.out(json === true ? `${JSON.stringify(value)}\n` : `${windowLines(found, nowMs).join('\n')}\n`);
    return holes > 0 ? EXIT.finding : EXIT.good;
  });
}
