import type { ReplaySource, StoredPlan } from '@tailrace/lake';
import type { ReplayerConfig } from './config.ts';
import { counted, total } from './offsets.ts';
import { PartitionSender } from './partition-sender.ts';
import { withReading } from './plan-reading.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { progressOn } from './progress.ts';
import { NOTHING_SENT } from './sent-state.ts';
import { type Stored, withAdmin } from './servers.ts';
import { bytesText } from './size.ts';
import { wantedBy } from './wanted.ts';

/** Reads and chooses everything that a run would send, and sends nothing. */
export async function dryRun(
  plan: StoredPlan,
  flags: JsonFlag & { readonly source?: ReplaySource },
  config: ReplayerConfig,
  { ledger }: Stored,
  ports: Ports,
): Promise<number> {
  const isWanted = wantedBy(plan);
  return await withAdmin(config, (admin, settings) =>
    withReading({ ledger, admin, settings, source: flags.source, ports }, async (reader) => {
      const progress = progressOn(ports, total(plan.partitions.flatMap(({ ranges }) => ranges)));
      const senders: readonly PartitionSender[] = plan.partitions.map(
        (planned) =>
          new PartitionSender(
            planned,
            NOTHING_SENT,
            { topic: planned.topic, notes: [] },
            {
              read: (chain, range) => reader.read(chain, range, ports.signal),
              isWanted,
              admit: async () => progress.update(sumOf(senders)),
              publish: async () => {},
              chunk: { records: 1000, bytes: 1024 * 1024 },
            },
          ),
      );
      try {
        for (const sender of senders) await sender.run();
      } finally {
        progress.stop();
      }
      const { records, bytes } = sumOf(senders);
      const passed = (of: 'fromLake' | 'fromKafka' | 'leftOut' | 'lost'): number => senders.reduce((sum, each) => sum + each.passed[of], 0);
      const value = {
        plan: plan.id,
        into: plan.into,
        records,
        bytes,
        fromLake: passed('fromLake'),
        fromKafka: passed('fromKafka'),
        leftOut: passed('leftOut'),
        lost: passed('lost'),
      };
      ports.out(
        flags.json === true
          ? `${JSON.stringify(value)}\n`
          : `Plan ${plan.id} would send ${counted(records, 'record')} (${bytesText(bytes)}) into ${plan.into}: ${value.fromLake} read from the lake, ${value.fromKafka} from Kafka; ${value.leftOut} of its offsets are not of the window. Nothing was sent.\n`,
      );
      return EXIT.good;
    }),
  );
}

/** What several partitions have come to. */
export function sumOf(senders: readonly PartitionSender[]): { readonly offsets: number; readonly records: number; readonly bytes: number } {
  return senders.reduce(
    (sum, { passed, acknowledged }) => ({
      offsets: sum.offsets + passed.offsets,
      records: sum.records + acknowledged.records,
      bytes: sum.bytes + acknowledged.bytes,
    }),
    { offsets: 0, records: 0, bytes: 0 },
  );
}
