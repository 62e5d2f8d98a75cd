import type { KafkaSettings } from '../settings.ts';
import type { Position } from './broker-consumer.ts';
import { ask, CODES, kafka, nativeSettings, toBrokerError } from './native-client.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const SERVE_MS = 100;
const LEAVE_MS = 5000;

/** The group has members: its position is theirs. */
export class GroupIsLive extends Error {
  constructor(group: string, members?: number) {
    const who = members === undefined ? 'a member' : members === 1 ? '1 member' : `${members} members`;
    super(
      `Group ${group} has ${who} that Kafka counts as running: stop it first, then run this again. (One that was killed counts until its session has ended, after up to 45 s.) Nothing was changed.`,
    );
    this.name = 'GroupIsLive';
  }
}

/** What Kafka answers to a commit of one who is no member of a group that has some. */
const NOT_A_MEMBER: ReadonlySet<number> = new Set([CODES.unknownMember, CODES.staleMemberEpoch, CODES.illegalGeneration]);

/**
 * Commits positions for a group that has no members, lower ones too: as a consumer with the group's id that joins no group. Resolves when the broker
 * has confirmed them. Throws GroupIsLive when the group has members, BrokerError for all else.
 */
export async function commitGroupOffsets(
  settings: KafkaSettings,
  group: string,
  positions: readonly Position[],
  timeoutMs: number,
): Promise<void> {
  if (positions.length === 0) return;
  for (const { nextToRead } of positions)
    if (!Number.isSafeInteger(nextToRead) || nextToRead < 0) throw new RangeError(`${nextToRead} is not an offset`);
  let answer: { readonly fault: { code: number; message: string } | undefined } | undefined;
  const consumer = new kafka.KafkaConsumer({
    ...nativeSettings(settings),
    'group.id': group,
    'enable.auto.commit': false,
    // The client's only word on a commit that is the broker's; it is told while `consume` runs.
    offset_commit_cb: (fault: { code: number; message: string } | undefined) => {
      answer = { fault: fault ?? undefined };
    },
  });
  await ask((done) => consumer.connect({ timeout: CONNECT_TIMEOUT_MS }, done));
  try {
    consumer.commit(positions.map(({ topic, partition, nextToRead }) => ({ topic, partition, offset: nextToRead })) as never);
    consumer.setDefaultConsumeTimeout(SERVE_MS);
    const deadlineMs = Date.now() + timeoutMs;
    while (answer === undefined && Date.now() < deadlineMs) await ask((done) => consumer.consume(1, done as never));
  } finally {
    await Promise.race([ask((done) => consumer.disconnect(done)), new Promise((resolve) => setTimeout(resolve, LEAVE_MS).unref())]);
  }
  if (answer === undefined)
    throw new Error(`Kafka did not answer the commit of group ${group} within ${timeoutMs / 1000} s; it may have been taken.`);
  if (answer.fault === undefined) return;
  if (NOT_A_MEMBER.has(answer.fault.code)) throw new GroupIsLive(group);
  throw toBrokerError(answer.fault);
}
