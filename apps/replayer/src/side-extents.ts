import type { ClusterAdmin, TopicIdentity } from '@tailrace/kafka-kit';
import { type SideExtents, sideKey } from '@tailrace/lake';

const LOOK_UP_MS = 10_000;

/** The present lives of side topics, and where their logs begin, by a look-up begun after the call. One that is missing is left out. */
export async function sideExtents(
  { admin, identity }: { readonly admin: Pick<ClusterAdmin, 'groupLag'>; readonly identity: Pick<TopicIdentity, 'lookUp'> },
  group: string,
  topics: readonly string[],
): Promise<SideExtents> {
  const extents = new Map<string, { readonly incarnation: string; readonly logStart: number }>();
  for (const topic of new Set(topics)) {
    const incarnation = await identity.lookUp(topic, LOOK_UP_MS);
    if (incarnation === undefined) continue;
    for (const { partition, logStart } of await admin.groupLag(group, [topic]))
      extents.set(sideKey(topic, partition), { incarnation, logStart });
  }
  return extents;
}
