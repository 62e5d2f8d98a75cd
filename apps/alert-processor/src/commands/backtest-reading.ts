import {
  backoffMs,
  type ClusterAdmin,
  connectAdmin,
  DEFAULT_BACKOFF,
  HistoryHole,
  type KafkaSettings,
  reasonsOf,
  systemClock,
} from '@tailrace/kafka-kit';
import {
  bothTimes,
  type ChainId,
  chainText,
  FileDamage,
  type JoinedReader,
  Ledger,
  LedgerDamage,
  lakeLayout,
  lookAtWindow,
  type OffsetRange,
  type PlannedPartition,
  type Planning,
  type PlanWindow,
  planReplay,
  S3Store,
  withJoinedReader,
  withKafka,
} from '@tailrace/lake';
import { ConfigError, kafkaVariables, loadConfig, s3Variables } from '@tailrace/service';
import type { BacktestPart, BacktestPartition } from '../simulate/backtest.ts';
import type { Ports } from './ports.ts';

const CLIENT = 'tailrace-backtest';
/** Tries behind each other that bring nothing. */
const MAX_TRIES = 8;

const FINAL: readonly (new (...args: never[]) => Error)[] = [FileDamage, LedgerDamage, TypeError, RangeError];

const WAY = 'see whether it runs, and try again';

export interface WindowReading {
  readonly partitions: readonly BacktestPartition[];
  /** Offsets to read, over all partitions. */
  readonly offsets: number;
}

/** Reads the records of a window from lake and Kafka while `work` runs. No group is joined, and nothing is committed. */
export async function withWindow<T>(
  span: { readonly fromMs: number; readonly toMs: number },
  topics: readonly string[],
  ports: Ports,
  work: (reading: WindowReading) => Promise<T>,
): Promise<T> {
  const config = loadConfig({ kafka: kafkaVariables, s3: s3Variables }, ports.environment);
  const settings: KafkaSettings = { ...config.kafka, clientId: CLIENT };
  const store = new S3Store(config.s3);
  try {
    const ledger = new Ledger(store, lakeLayout(config.s3));
    const planned = await withKafka(settings, CLIENT, WAY, async (kafka) => {
      const window: PlanWindow = { ...span, by: 'broker', skewMs: 0 };
      return plannedOf(planReplay(window, await lookAtWindow(ledger, kafka, topics, window)), span.toMs);
    });
    return await withAdmin(settings, (admin) =>
      withJoinedReader(
        {
          ledger,
          admin,
          settings,
          nowMs: ports.nowMs,
          onWait: (chain, { first, next }) =>
            ports.note(
              `Offsets ${first} to ${next - 1} of ${chainText(chain)} are not archived yet, and Kafka has deleted them: waiting for the archiver.\n`,
            ),
        },
        (reader) => work(readingOf(planned, reader, ports)),
      ),
    );
  } finally {
    store.close();
  }
}

async function withAdmin<T>(settings: KafkaSettings, work: (admin: ClusterAdmin) => Promise<T>): Promise<T> {
  const admin = await connectAdmin(settings).catch((fault: unknown) => {
    throw new Error(`Kafka at ${settings.bootstrapServers} could not be asked (${reasonsOf(fault)}): ${WAY}.`, { cause: fault });
  });
  try {
    return await work(admin);
  } finally {
    await admin.close();
  }
}

function plannedOf(planning: Planning, toMs: number): readonly PlannedPartition[] {
  if (planning.kind === 'planned') return planning.partitions;
  if (planning.kind === 'anew') {
    const lives = planning.lives.map(({ topic, newestMs }) => `${topic} until ${newestMs === null ? 'now' : bothTimes(newestMs)}`);
    throw new ConfigError([`A topic was made anew inside of the window (${lives.join(', ')}): backtest each part by itself.`]);
  }
  const oldestMs = [planning.lakeMs, planning.kafkaMs].filter((ms) => ms !== null).toSorted((a, b) => a - b)[0];
  throw new ConfigError([
    oldestMs === undefined
      ? 'There is nothing to test upon: neither the lake nor Kafka holds a record yet.'
      : `The window ends at ${bothTimes(toMs)}, before the oldest record that is left, of ${bothTimes(oldestMs)}.`,
  ]);
}

function readingOf(planned: readonly PlannedPartition[], reader: JoinedReader, ports: Ports): WindowReading {
  return {
    offsets: planned.flatMap(({ ranges, missing }) => [...ranges, ...missing]).reduce((sum, { first, next }) => sum + next - first, 0),
    partitions: planned.map((each) => ({ source: each, read: () => partsOf(each, reader, ports) })),
  };
}

/** In the order of offsets what can be read, and what the plan knows already that nobody has. */
export async function* partsOf(
  planned: PlannedPartition,
  reader: Pick<JoinedReader, 'read'>,
  ports: Pick<Ports, 'note' | 'signal'>,
): AsyncGenerator<BacktestPart, void> {
  const { topic, incarnation, partition, ranges, missing } = planned;
  const chain = { topic, incarnation, partition };
  const gone = missing.toSorted((a, b) => a.first - b.first).map(({ kind, first, next }) => ({ kind, from: first, to: next }));
  for (const range of ranges) {
    while ((gone[0]?.from ?? range.next) < range.first) yield* gone.splice(0, 1);
    yield* throughFaults(chain, range, reader, ports);
  }
  yield* gone;
}

/** A hole is told, and what lies behind it is read all the same; a fault of the moment is waited out, and the reading goes on where it was. */
async function* throughFaults(
  chain: ChainId,
  range: OffsetRange,
  reader: Pick<JoinedReader, 'read'>,
  ports: Pick<Ports, 'note' | 'signal'>,
): AsyncGenerator<BacktestPart, void> {
  let tries = 0;
  for (let first = range.first; first < range.next; ) {
    try {
      for await (const part of reader.read(chain, { first, next: range.next }, ports.signal)) {
        yield part;
        first = part.kind === 'records' ? (part.records.at(-1)?.offset ?? first - 1) + 1 : part.to;
        tries = 0;
      }
      return;
    } catch (fault) {
      if (fault instanceof HistoryHole) {
        first = Math.min(fault.to, range.next);
        yield { kind: 'hole', from: fault.from, to: first };
        continue;
      }
      if (ports.signal.aborted || !isOfTheMoment(fault) || tries >= MAX_TRIES) throw fault;
      if (tries === 0) ports.note(`${fault instanceof Error ? fault.message : String(fault)} It is tried again.\n`);
      await systemClock.sleep(backoffMs(DEFAULT_BACKOFF, tries++), ports.signal);
    }
  }
}

/** No trying again helps where what was written is damaged, or this program is at fault. */
function isOfTheMoment(fault: unknown): boolean {
  return !FINAL.some((kind) => fault instanceof kind);
}
