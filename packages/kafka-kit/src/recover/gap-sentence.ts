import type { Gap } from '../consume/contract.ts';
import { TAILRACE } from '../observe/command.ts';
import type { TopicPartition } from '../records.ts';

/** Whose word decides where a lane begins: the group’s commit in Kafka, or the sink’s own (it answers `assign`). */
export type PositionKeeper = 'group' | 'sink';

/** What ends a halt before each kind of gap, where the commit is the position. */
const WAYS: Readonly<Record<Gap['kind'], { readonly what: string; readonly to: string }>> = {
  expired: { what: 'to pass them', to: 'earliest' },
  truncated: { what: 'to go on behind the end', to: 'latest' },
  recreated: { what: 'to read the new one from its start', to: 'earliest' },
  void: { what: 'to pass them', to: 'earliest' },
};

/** The command that ends a halt of a group whose position is its commit. */
export function gapWay(group: string, { topic, partition }: TopicPartition, kind: Gap['kind']): string {
  const { what, to } = WAYS[kind];
  return `${what}, stop the group, run: ${TAILRACE} group reset --group ${group} --topic ${topic} --partition ${partition} --to ${to}, and start it`;
}

/** One sentence for people: what is missing, where, and the way out. */
export function gapSentence(group: string, tp: TopicPartition, gap: Gap, keeper: PositionKeeper): string {
  const way = keeper === 'group' ? gapWay(group, tp, gap.kind) : sinkWay(gap);
  return `${gapFinding(group, tp, gap)}; ${way}.`;
}

/** As `gapSentence`, of what the group's history does not give back either, for the reason `why`. */
export function restoreHaltSentence(group: string, tp: TopicPartition, gap: Gap, why: string): string {
  const { topic, partition } = tp;
  const reset = `${TAILRACE} group reset --group ${group} --topic ${topic} --partition ${partition} --to offset:${gap.to}`;
  return `${gapFinding(group, tp, gap)}, and that can not be restored: ${why}; mend that and restart the group, or, to pass them, stop it, run: ${reset}, and start it.`;
}

/** What is missing and where, without a way out and without an end. */
export function gapFinding(group: string, { topic, partition }: TopicPartition, gap: Gap): string {
  const where = `${topic}, partition ${partition}`;
  if (gap.kind === 'truncated') return `Group ${group} stands at offset ${gap.to} of ${where}, but the log ends at ${gap.from}`;
  if (gap.kind === 'recreated') return `Topic ${topic} was deleted and made anew while group ${group} read partition ${partition}`;
  const range = gap.to - gap.from === 1 ? `offset ${gap.from}` : `offsets ${gap.from} to ${gap.to - 1}`;
  return `Group ${group} needs ${range} of ${where}, which Kafka no longer holds`;
}

/** A sink that keeps the position is set back by no reset of the group. */
function sinkWay(gap: Gap): string {
  if (gap.kind !== 'truncated') return 'its sink keeps the position, and can not pass this';
  return `its sink keeps the position: when the log has grown beyond ${gap.to}, a restart goes on there`;
}
