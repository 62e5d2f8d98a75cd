import { type ClusterAdmin, connectAdmin, type KafkaSettings, reasonsOf, TAILRACE } from '@tailrace/kafka-kit';
import { type KafkaExtents, Ledger, lakeLayout, ReplayPlans, ReplayRuns, S3Store, type StoredPlan, withKafka } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';
import type { ReplayerConfig } from './config.ts';

/** Under which Kafka knows this command. No group is joined, and nothing is committed. */
const CLIENT = 'tailrace-replay';

/** What lies in the lake's bucket. */
export interface Stored {
  readonly ledger: Ledger;
  readonly plans: ReplayPlans;
  runsInto(consumer: string): ReplayRuns;
}

export interface Servers extends Stored {
  readonly kafka: KafkaExtents;
}

export function kafkaSettings({ kafka }: ReplayerConfig): KafkaSettings {
  return { ...kafka, clientId: CLIENT };
}

/** Works on the bucket and on what Kafka says of its logs. */
export async function withServers<T>(config: ReplayerConfig, work: (servers: Servers) => Promise<T>): Promise<T> {
  return await withStore(config, (stored) =>
    withKafka(kafkaSettings(config), CLIENT, 'see whether it runs, and try again', (kafka) => work({ ...stored, kafka })),
  );
}

export async function withStore<T>({ s3 }: ReplayerConfig, work: (stored: Stored) => Promise<T>): Promise<T> {
  const store = new S3Store(s3);
  try {
    const runsInto = (consumer: string): ReplayRuns => new ReplayRuns(store, s3.prefix, consumer);
    return await work({ ledger: new Ledger(store, lakeLayout(s3)), plans: new ReplayPlans(store, s3.prefix), runsInto });
  } finally {
    store.close();
  }
}

/** Works with Kafka's admin. Rejects with one sentence where Kafka can not be reached. */
export async function withAdmin<T>(config: ReplayerConfig, work: (admin: ClusterAdmin, settings: KafkaSettings) => Promise<T>): Promise<T> {
  const settings = kafkaSettings(config);
  const admin = await connectAdmin(settings);
  try {
    try {
      await admin.brokerCount();
    } catch (fault) {
      throw new Error(
        `Kafka at ${settings.bootstrapServers} could not be asked (${reasonsOf(fault)}): see whether it runs, and try again.`,
        {
          cause: fault,
        },
      );
    }
    return await work(admin, settings);
  } finally {
    await admin.close();
  }
}

/** The plan with that number. Throws ConfigError where there is none. */
export async function planNumbered(plans: ReplayPlans, id: number): Promise<StoredPlan> {
  const plan = await plans.get(id);
  if (plan === undefined) throw new ConfigError([`There is no plan ${id}: ${TAILRACE} replay ls shows those that there are.`]);
  return plan;
}
