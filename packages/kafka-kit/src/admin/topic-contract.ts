import { TAILRACE } from '../observe/command.ts';
import type { KafkaSettings } from '../settings.ts';
import { connectAdmin } from './cluster-admin.ts';
import { describeChange, planTopics, type TopicChange, type TopicSpec } from './topic-plan.ts';

/** `enforce`: a broken contract stops the service. `warn`: it is said, and the service goes on. */
export type ContractMode = 'enforce' | 'warn';

/** Thrown when the topics that a service uses are not as declared. */
export class ContractError extends Error {
  override readonly name = 'ContractError';
}

/** Holds the topics that a service uses against their declarations, at its start. Throws ContractError under `enforce`. */
export async function checkTopics(
  settings: KafkaSettings,
  specs: readonly TopicSpec[],
  mode: ContractMode,
  warn: (sentence: string) => void,
): Promise<void> {
  const admin = await connectAdmin(settings);
  try {
    const changes = planTopics(specs, await admin.readTopics(specs.map(({ name }) => name)), await admin.brokerCount());
    for (const change of changes) if (change.kind === 'unreadable') warn(change.sentence);
    const broken = changes.filter(({ kind }) => kind !== 'unreadable');
    if (broken.length === 0) return;
    const sentence = brokenContract(broken);
    if (mode === 'enforce') throw new ContractError(sentence);
    warn(sentence);
  } finally {
    await admin.close();
  }
}

/** One sentence: what differs, and what to do. A command that can not mend it is not given as the way out. */
function brokenContract(broken: readonly TopicChange[]): string {
  const what = broken.map((change) => describeChange(change).replace(/\.$/, '')).join('; ');
  const todo = broken.some(({ kind }) => kind === 'refused')
    ? `what is marked with ! ${TAILRACE} topics apply does not change`
    : `run: ${TAILRACE} topics apply`;
  return `The topics are not as declared (${what}); ${todo}`;
}
