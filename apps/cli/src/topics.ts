import { type TopicProfile, topicsFor } from '@tailrace/events';
import { type ClusterAdmin, describeChange, describeDone, planTopics, type TopicChange } from '@tailrace/kafka-kit';
import { EXIT, type Output } from './output.ts';

type TopicAdmin = Pick<ClusterAdmin, 'readTopics' | 'brokerCount' | 'apply'>;

/** What `apply` makes: topics that something uses now. Planned ones are declared, and made by the release that uses them. */
function specs(profile: TopicProfile) {
  return topicsFor(profile).filter(({ state }) => state === 'active');
}

/** Shows how the cluster differs from the declarations. Exit code 0 when it does not, else 1. */
export async function planCommand(admin: TopicAdmin, profile: TopicProfile, output: Output): Promise<number> {
  const changes = await plan(admin, profile);
  output.result({ profile, changes }, changes.length === 0 ? ['The topics are as declared.'] : changes.map(describeChange));
  return changes.length === 0 ? EXIT.good : EXIT.finding;
}

/** Makes it so. Exit code 1 when something is left that it may not change. */
export async function applyCommand(admin: TopicAdmin, profile: TopicProfile, dryRun: boolean, output: Output): Promise<number> {
  const changes = await plan(admin, profile);
  if (!dryRun) await admin.apply(changes);
  const left = dryRun ? changes : await plan(admin, profile);
  const lines = changes.map((change) => (dryRun ? `would do: ${describeChange(change)}` : describeDone(change)));
  const last =
    left.length === 0 ? 'The topics are as declared.' : dryRun ? 'Nothing was changed.' : 'What is marked with ! was left as it is.';
  output.result({ profile, changes, left }, [...lines, last]);
  return left.length === 0 ? EXIT.good : EXIT.finding;
}

async function plan(admin: TopicAdmin, profile: TopicProfile): Promise<TopicChange[]> {
  const wanted = specs(profile);
  return planTopics(wanted, await admin.readTopics(wanted.map(({ name }) => name)), await admin.brokerCount());
}
