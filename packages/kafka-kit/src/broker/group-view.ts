import { partitionKey } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';
import type { MemberView } from './assignment-watch.ts';
import { ask, kafka, nativeSettings } from './native-client.ts';

interface Assigned {
  readonly topicPartitions?: readonly { readonly topic: string; readonly partition: number }[];
}

interface Described {
  readonly groups?: readonly {
    readonly error?: { readonly message: string };
    readonly members: readonly { readonly assignment?: Assigned; readonly targetAssignment?: Assigned }[];
  }[];
}

/** The members of a group as its coordinator sees them. A client of its own for each look, since there are few: one derived from a consumer never answers. */
export async function groupView(settings: KafkaSettings, group: string, timeoutMs: number): Promise<readonly MemberView[]> {
  const admin = kafka.AdminClient.create(nativeSettings(settings));
  try {
    const { groups = [] } = await ask<Described>((done) => admin.describeGroups([group], { timeout: timeoutMs }, done as never));
    const [described] = groups;
    if (described === undefined || described.error !== undefined)
      throw new Error(described?.error?.message ?? `the coordinator does not know the group ${group}`);
    return described.members.map(({ assignment, targetAssignment }) => {
      const now = partitionsOf(assignment);
      // Without a target (classic protocol) there is nothing that would still be wanted.
      return { assignment: now, target: targetAssignment === undefined ? now : partitionsOf(targetAssignment) };
    });
  } finally {
    admin.disconnect();
  }
}

function partitionsOf(assigned: Assigned | undefined): ReadonlySet<string> {
  return new Set((assigned?.topicPartitions ?? []).map(partitionKey));
}
