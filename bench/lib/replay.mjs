// A replay without the command around it: the joined reader, the sender and the side channel's producer, unthrottled.

import { mkdirSync } from 'node:fs';
import { PlanSender } from '../../apps/replayer/dist/plan-sender.js';
import { KafkaReplayChannel } from '../../apps/replayer/dist/replay-channel.js';
import { connectAdmin, DEFAULT_BACKOFF, TopicIdentity } from '../../packages/kafka-kit/dist/index.js';
import { archivedAt, Database, JoinedReader, KafkaReplayLog, LakeHistory, Ledger, S3Store } from '../../packages/lake/dist/index.js';
import { s3Of } from './lake.mjs';
import { measured, task } from './subject.mjs';

const ASK_AGAIN_MS = 1000;
/** As the command has them. */
const CHUNK = { records: 1000, bytes: 512 * 1024 };

/** @param {'lake' | 'kafka'} source */
export async function measureReplay(source) {
  const { archivedTopic: topic, records, partitions, group, environment, folder, lakePrefix } = task();
  const settings = { bootstrapServers: environment.KAFKA_BOOTSTRAP_SERVERS, clientId: group, securityProtocol: 'plaintext' };
  const s3 = s3Of(environment, lakePrefix);
  mkdirSync(folder, { recursive: true });
  await measured(async (firstRecord) => {
    const admin = await connectAdmin(settings);
    const identity = new TopicIdentity(settings);
    const incarnation = await identity.lookUp(topic, 10_000);
    const logs = await admin.groupLag(group, [topic]);
    const ledger = new Ledger(new S3Store(s3), { prefix: lakePrefix, stream: 'service-events' });
    const database = await Database.open();
    const reader = new JoinedReader({
      history: new LakeHistory({ ledger, database, folder }),
      archived: archivedAt(ledger),
      log: new KafkaReplayLog(settings, admin, identity),
      only: source,
      nowMs: Date.now,
      patienceMs: 0,
      askAgainMs: ASK_AGAIN_MS,
      onWait: () => {},
    });
    const plan = {
      id: 1,
      attempt: 'bench000',
      partitions: logs.map(({ partition, logEnd }) => ({ topic, incarnation, partition, ranges: [{ first: 0, next: logEnd }] })),
    };
    const channel = await KafkaReplayChannel.open('bench', settings, admin, plan.partitions);
    const sender = await PlanSender.open(
      plan,
      {
        channel,
        sent: () => undefined,
        positionsTopic: 'bench-positions',
        backoff: DEFAULT_BACKOFF,
        read: async function* (chain, range, signal) {
          for await (const part of reader.read(chain, range, signal)) {
            firstRecord();
            yield part;
          }
        },
        isWanted: () => true,
        admit: async () => {},
        chunk: CHUNK,
        onPublished: () => {},
        note: (sentence) => console.error(sentence),
        nowMs: Date.now,
      },
      new AbortController().signal,
    );
    const report = await sender.run();
    const sent = report.partitions.reduce((sum, each) => sum + each.records, 0);
    if (sent !== records || logs.length !== partitions) throw new Error(`${sent} of ${records} records were sent`);
  });
}
