import { randomUUID } from 'node:crypto';
import { TAILRACE } from '@tailrace/kafka-kit';
import {
  type KafkaExtents,
  Ledger,
  lakeLayout,
  type PartitionSources,
  type PlannedPartition,
  planReplay,
  type ReplayPlan,
  ReplayPlans,
  replayWindow,
  S3Store,
  STREAM,
  whereNow,
  withKafka,
} from '@tailrace/lake';
import { ConfigError, type Environment } from '@tailrace/service';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type ReplayerConfig, readReplayerConfig } from './config.ts';
import { lookAtSources, lookAtWindow } from './look.ts';
import { type HeldNow, planLines } from './plan-lines.ts';
import { type PlanFlags, planRequest } from './plan-request.ts';
import { planRefusal } from './refusals.ts';
import { bothTimes } from './times.ts';
import { windowLines } from './window-lines.ts';

/** 0 good, 1 a finding or failed work, 2 wrong use. */
export const EXIT = { good: 0, finding: 1, failed: 1, wrongUse: 2 } as const;

/** Where a command writes (`out` its result, `note` what happens meanwhile), and what it works on. */
export interface Ports {
  out(text: string): void;
  note(text: string): void;
  nowMs(): number;
  readonly environment: Environment;
  /** The topics of the stream. */
  readonly topics: readonly string[];
}

/** Under which Kafka knows this command. No group is joined, and nothing is committed. */
const CLIENT = 'tailrace-replay';

/** Runs one `replay …` command line (without node and script). Resolves with the exit code; errors are one sentence. */
export async function replayCommand(argv: readonly string[], ports: Ports): Promise<number> {
  let code: number = EXIT.good;
  const program = buildProgram(ports, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.good : EXIT.wrongUse;
    ports.note(`${error instanceof ConfigError ? error.lines.join('\n') : error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof ConfigError ? EXIT.wrongUse : EXIT.failed;
  }
}

interface JsonFlag {
  readonly json?: boolean;
}

function planNumber(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError(`Give the number of a plan, like 7: ${TAILRACE} replay ls shows them.`);
  return Number(text);
}

/** The commands themselves: for the page that is made from them too. */
export function buildProgram(ports: Ports, done: (code: number) => void): Command {
  const json = (): Option => new Option('--json', 'print one JSON object');
  const program = new Command(TAILRACE)
    .exitOverride()
    .configureOutput({ writeOut: (text) => ports.out(text), writeErr: (text) => ports.note(text) })
    .showHelpAfterError(`(${TAILRACE} replay --help lists the commands)`);
  const replay = program.command('replay').description('See how far back a replay reaches, and plan one.');
  replay.action(() => replay.help({ error: true }));
  replay
    .command('window')
    .description('show for each partition from when on it can be replayed, from Kafka and from the lake; exit code 1 when there is a hole')
    .addOption(json())
    .action(async (flags: JsonFlag) => done(await window(flags, ports)));
  replay
    .command('plan')
    .description(
      'resolve a window of time into the offsets that hold it, and freeze them; exit code 1 when there is a hole, or nothing to read',
    )
    .requiredOption('--from <time>', 'the first instant of the window, with its zone, like 2026-03-01T09:00:00Z')
    .requiredOption('--to <time>', 'the first instant behind the window, with its zone')
    .requiredOption('--into <consumer>', 'the consumer that missed it, like indexer')
    .addOption(
      new Option('--by <clock>', 'whose time counts: of the broker (arrival) or of the event')
        .choices(['broker', 'event'])
        .default('broker'),
    )
    .option('--skew <length>', 'with --by event: how far an event may be off its arrival, like 15m or 2h (default: 1h)')
    .option('--dry-run', 'show the plan, and store nothing')
    .addOption(json())
    .action(async (flags: PlanFlags & JsonFlag & { readonly dryRun?: boolean }) => done(await plan(flags, ports)));
  replay
    .command('show')
    .description('show a plan, and what holds its offsets now')
    .argument('<number>', 'the number of the plan', planNumber)
    .addOption(json())
    .action(async (id: number, flags: JsonFlag) => done(await show(id, flags, ports)));
  replay
    .command('ls')
    .description('list the plans')
    .addOption(json())
    .action(async (flags: JsonFlag) => done(await list(flags, ports)));
  return program;
}

interface Servers {
  readonly ledger: Ledger;
  readonly plans: ReplayPlans;
  readonly kafka: KafkaExtents;
}

async function window({ json }: JsonFlag, ports: Ports): Promise<number> {
  return await withServers(readReplayerConfig(ports.environment), async ({ ledger, kafka }) => {
    const found = replayWindow(await lookAtSources(ledger, kafka, ports.topics));
    const holes = found.partitions.reduce((sum, each) => sum + each.holes.length, 0);
    const nowMs = ports.nowMs();
    const value = { ...found, holes, trueForMs: found.sinceMs === null ? null : nowMs - found.sinceMs };
    ports.out(json === true ? `${JSON.stringify(value)}\n` : `${windowLines(found, nowMs).join('\n')}\n`);
    return holes > 0 ? EXIT.finding : EXIT.good;
  });
}

async function plan(flags: PlanFlags & JsonFlag & { readonly dryRun?: boolean }, ports: Ports): Promise<number> {
  const config = readReplayerConfig(ports.environment);
  const request = planRequest(flags, ports.nowMs());
  return await withServers(config, async ({ ledger, plans, kafka }) => {
    const sources = await lookAtWindow(ledger, kafka, ports.topics, request.window);
    const planning = planReplay(request.window, sources);
    if (planning.kind !== 'planned') throw new ConfigError([planRefusal(planning, request.window)]);
    const made: ReplayPlan = {
      attempt: randomUUID(),
      madeAtMs: ports.nowMs(),
      stream: STREAM,
      ...request,
      partitions: planning.partitions,
    };
    const isEmpty = made.partitions.every(({ ranges }) => ranges.length === 0);
    const id = flags.dryRun === true || isEmpty ? null : await plans.put(made);
    const last = isEmpty
      ? 'Nothing was stored: no record of the window is left to be read.'
      : id === null
        ? 'Nothing was stored, as asked for by --dry-run.'
        : `Stored as plan ${id}: ${TAILRACE} replay show ${id} shows it again.`;
    tell(ports, flags, { id, ...made }, sources, [last]);
    const holes = made.partitions.some(({ missing }) => missing.some(({ kind }) => kind === 'hole'));
    return isEmpty || holes ? EXIT.finding : EXIT.good;
  });
}

async function show(id: number, flags: JsonFlag, ports: Ports): Promise<number> {
  return await withServers(readReplayerConfig(ports.environment), async ({ ledger, plans, kafka }) => {
    const found = await plans.get(id);
    if (found === undefined) throw new ConfigError([`There is no plan ${id}: ${TAILRACE} replay ls shows those that there are.`]);
    const sources = await lookAtSources(ledger, kafka, ports.topics);
    tell(ports, flags, found, sources, [`Plan ${id}, made ${bothTimes(found.madeAtMs)}.`]);
    return EXIT.good;
  });
}

/** Prints a plan with what holds it now. */
function tell(
  ports: Ports,
  { json }: JsonFlag,
  shown: ReplayPlan & { readonly id: number | null },
  sources: readonly PartitionSources[],
  last: readonly string[],
): void {
  const now = (planned: PlannedPartition): HeldNow => {
    const of = sources.find(
      ({ topic, incarnation, partition }) =>
        topic === planned.topic && incarnation === planned.incarnation && partition === planned.partition,
    );
    return of === undefined ? { lake: [], kafka: [] } : whereNow(of, planned.ranges);
  };
  const value = { ...shown, partitions: shown.partitions.map((each) => ({ ...each, now: now(each) })) };
  ports.out(json === true ? `${JSON.stringify(value)}\n` : `${[...planLines(shown, now), ...last].join('\n')}\n`);
}

async function list({ json }: JsonFlag, ports: Ports): Promise<number> {
  const config = readReplayerConfig(ports.environment);
  return await withStore(config, async ({ plans }) => {
    const shown: object[] = [];
    let count = 0;
    for await (const { id, madeAtMs, into, window: of, partitions } of plans.list()) {
      count++;
      const offsets = partitions.flatMap(({ ranges }) => ranges).reduce((sum, { first, next }) => sum + next - first, 0);
      if (json === true) shown.push({ id, madeAtMs, into, window: of, partitions: partitions.length, offsets });
      else
        ports.out(
          `Plan ${id}, made ${bothTimes(madeAtMs)}: from ${bothTimes(of.fromMs)} up to ${bothTimes(of.toMs)}, into ${into}, ${offsets} offsets.\n`,
        );
    }
    if (json === true) ports.out(`${JSON.stringify({ plans: shown })}\n`);
    else if (count === 0) ports.out(`There is no plan yet: ${TAILRACE} replay plan --help says how to make one.\n`);
    return EXIT.good;
  });
}

async function withServers<T>(config: ReplayerConfig, work: (servers: Servers) => Promise<T>): Promise<T> {
  const settings = { ...config.kafka, clientId: CLIENT };
  return await withStore(config, ({ ledger, plans }) =>
    withKafka(settings, CLIENT, 'see whether it runs, and try again', (kafka) => work({ ledger, plans, kafka })),
  );
}

async function withStore<T>({ s3 }: ReplayerConfig, work: (servers: Omit<Servers, 'kafka'>) => Promise<T>): Promise<T> {
  const store = new S3Store(s3);
  try {
    return await work({ ledger: new Ledger(store, lakeLayout(s3)), plans: new ReplayPlans(store, s3.prefix) });
  } finally {
    store.close();
  }
}
