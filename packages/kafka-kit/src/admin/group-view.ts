import type { Reader } from '@platformatic/kafka';
import { BrokerError } from '../broker/broker-consumer.ts';
import { partitionKey } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';
import { adminOptions } from './cluster-admin.ts';

/** What the coordinator says of one member: what it may own now, and what it is to own in the end. Partitions as `topic/partition`. */
export interface MemberView {
  readonly assignment: ReadonlySet<string>;
  readonly target: ReadonlySet<string>;
}

interface DescribedGroup {
  readonly errorCode: number;
  readonly message: string;
  readonly members: readonly MemberView[];
}

/** ConsumerGroupDescribe, the request of KIP-848: https://kafka.apache.org/protocol#The_Messages_ConsumerGroupDescribe */
const DESCRIBE = { key: 69, version: 0 } as const;
/** The answer for a group of the classic protocol, and for one that is not there. */
const GROUP_ID_NOT_FOUND = 69;

/**
 * The members of a group as its coordinator sees them; none where there is no such group. By the second client: the first one reads a null
 * pointer, and ends the process, when the coordinator answers with an error or not at all. Rejects when it does not answer.
 */
export async function groupView(settings: KafkaSettings, group: string, timeoutMs: number): Promise<readonly MemberView[]> {
  const kafka = await import('@platformatic/kafka');
  const options = { ...adminOptions(settings), timeout: timeoutMs, connectTimeout: timeoutMs, requestTimeout: timeoutMs };
  const admin = new kafka.Admin(options);
  try {
    const [coordinator] = await admin.findCoordinator({ keyType: kafka.FindCoordinatorKeyTypes.GROUP, keys: [group] });
    if (coordinator === undefined) throw new Error(`Kafka named no coordinator for the group ${group}`);
    const describe = kafka.createAPI<[group: string], DescribedGroup>(
      DESCRIBE.key,
      DESCRIBE.version,
      (id: string) =>
        kafka.Writer.create()
          .appendArray([id], (writer, each) => writer.appendString(each), true, false)
          .appendBoolean(false)
          .appendTaggedFields(),
      (_correlationId, _key, _version, reader) => readDescribed(reader),
    );
    const { clientId, tls, sasl } = options;
    const secured = { ...(tls === undefined ? {} : { tls }), ...(sasl === undefined ? {} : { sasl }) };
    const connection = new kafka.Connection(clientId, { connectTimeout: timeoutMs, requestTimeout: timeoutMs, ...secured });
    try {
      await connection.connect(coordinator.host, coordinator.port);
      const { errorCode, message, members } = await describe.async(connection, group);
      if (errorCode === 0) return members;
      if (errorCode !== GROUP_ID_NOT_FOUND) throw new BrokerError(`the group ${group} can not be looked at: ${message}`, errorCode, false);
    } finally {
      await connection.close();
    }
    const classic = (await admin.describeGroups({ groups: [group] })).get(group);
    return [...(classic?.members.values() ?? [])].map(({ assignments }) => {
      const assignment = keysOf([...(assignments?.values() ?? [])]);
      // This protocol knows no target: nothing that a member owns is wanted back.
      return { assignment, target: assignment };
    });
  } finally {
    await admin.close();
  }
}

/** How many members a group has now; 0 also for a group that is not there. */
export async function countGroupMembers(settings: KafkaSettings, group: string, timeoutMs: number): Promise<number> {
  return (await groupView(settings, group, timeoutMs)).length;
}

function readDescribed(reader: Reader): DescribedGroup {
  reader.readInt32(); // throttle time
  const [group] = reader.readArray((r) => {
    const errorCode = r.readInt16();
    const message = r.readNullableString() ?? `error ${errorCode}`;
    // Id, state, epochs of the group and of its assignment, assignor.
    r.readString();
    r.readString();
    r.readInt32();
    r.readInt32();
    r.readString();
    const members = r.readArray(readMember);
    r.readInt32(); // authorized operations
    return { errorCode, message, members };
  });
  if (group === undefined) throw new Error('the coordinator described no group');
  return group;
}

function readMember(reader: Reader): MemberView {
  // Member, instance, rack, epoch, client, host, topics, pattern.
  reader.readString();
  reader.readNullableString();
  reader.readNullableString();
  reader.readInt32();
  reader.readString();
  reader.readString();
  reader.readArray((r) => r.readString(), true, false);
  reader.readNullableString();
  return { assignment: readAssignment(reader), target: readAssignment(reader) };
}

function readAssignment(reader: Reader): ReadonlySet<string> {
  const topics = reader.readArray((r) => {
    r.readUUID();
    return { topic: r.readString(), partitions: r.readArray((each) => each.readInt32(), true, false) };
  });
  reader.readTaggedFields();
  return keysOf(topics);
}

function keysOf(topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[]): ReadonlySet<string> {
  return new Set(topics.flatMap(({ topic, partitions }) => partitions.map((partition) => partitionKey({ topic, partition }))));
}
