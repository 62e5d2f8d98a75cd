import { groupNamed, parseInstant, streams } from '@tailrace/events';
import { TAILRACE } from '@tailrace/kafka-kit';
import {
  Database,
  decodeObject,
  type LakeAuditOptions,
  Ledger,
  lakeLayout,
  QueryFault,
  S3Store,
  STREAM,
  type TimeWindow,
  withKafka,
} from '@tailrace/lake';
import { COMMAND_EXIT, type KafkaConfig, runProgram, type S3Config } from '@tailrace/service';
import { Command, InvalidArgumentError, Option } from 'commander';
import { readAuditConfig, readLakeConfig } from './config.ts';
import { auditLakeAlone, auditLakeAndKafka, type LakeAudit } from './lake-audit.ts';
import { auditLines } from './lake-audit-lines.ts';
import { queryLake } from './lake-query.ts';
import { type ChainFilter, chainLines, NoSuchChain, type ShownChain, shownChains } from './ledger-show.ts';
import { progressNotes } from './progress.ts';
import { tableLines } from './table.ts';
import { inTemporaryFolder } from './temporary-folder.ts';

export const EXIT = COMMAND_EXIT;

/** Where a command writes: `out` its result, `note` what happens meanwhile. */
export interface Terminal {
  out(text: string): void;
  note(text: string): void;
}

const GROUP = groupNamed('archiver');
const ALONE = 'try again, or audit the lake alone with --no-kafka';

/** Runs one `lake …` command line (without node and script). Resolves with the exit code; errors are one sentence. */
export async function lakeCommand(argv: readonly string[], terminal: Terminal): Promise<number> {
  return await runProgram(argv, (done) => buildProgram(terminal, done), {
    note: (text) => terminal.note(text),
    wrongUse: [QueryFault, NoSuchChain],
  });
}

interface AuditFlags {
  readonly json?: boolean;
  readonly deep?: boolean;
  readonly kafka: boolean;
}

interface QueryFlags {
  readonly json?: boolean;
  readonly from?: number;
  readonly to?: number;
}

interface ShowFlags extends ChainFilter {
  readonly json?: boolean;
}

function partitionNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Give the number of a partition, like 3.');
  return Number(text);
}

/** An option's instant, in ms since 1970. */
function instantMs(text: string): number {
  const instant = parseInstant(text);
  if (instant === undefined) throw new InvalidArgumentError('Give a time with its zone, like 2026-03-01T09:00:00Z.');
  return instant.epochMs;
}

function buildProgram(terminal: Terminal, done: (code: number) => void): Command {
  const json = (): Option => new Option('--json', 'print one JSON object');
  const program = new Command(TAILRACE)
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.note(text) })
    .showHelpAfterError(`(${TAILRACE} lake --help lists the commands)`);
  const lake = program.command('lake').description('Look into the lake: the Parquet archive of all events.');
  lake.action(() => lake.help({ error: true }));
  lake
    .command('audit')
    .description(
      'check that every offset is covered exactly once, that each object is as its ledger entry says, and how far the lake is behind Kafka; exit code 1 on a finding',
    )
    .option('--no-kafka', 'look at the lake alone (also where KAFKA_BOOTSTRAP_SERVERS is not set)')
    .option(
      '--deep',
      'fetch and decode every object, rebuild every value and compare the checksums: takes as long as reading the whole lake',
    )
    .addOption(json())
    .action(async (flags: AuditFlags) => done(await audit(flags, terminal)));
  lake
    .command('query')
    .description(
      'run SQL (DuckDB) over the view `events`: the objects of the lake, with `dt` and `hour` of arrival; `all_events` has the canaries, too',
    )
    .argument('<sql>', 'one statement, like: SELECT service, count(*) FROM events GROUP BY service')
    .addOption(
      new Option('--from <time>', 'only what arrived at this time or later; objects of earlier hours are not fetched').argParser(instantMs),
    )
    .addOption(new Option('--to <time>', 'only what arrived before this time; objects of later hours are not fetched').argParser(instantMs))
    .addOption(json())
    .action(async (sql: string, flags: QueryFlags) => {
      await query(sql, flags, terminal);
      done(EXIT.good);
    });
  const ledger = lake.command('ledger').description('look into the ledger: the chains of offset ranges').addOption(json());
  ledger.action(() => ledger.help({ error: true }));
  ledger
    .command('show')
    .description('show each chain, entry by entry')
    .option('--topic <name>', 'only the chains of this topic')
    .addOption(new Option('--partition <number>', 'only the chains of this partition').argParser(partitionNumber))
    .option('--incarnation <id>', 'only the chains of this life of the topic')
    .addOption(json())
    .action(async (_flags: ShowFlags, command: Command) => done(await show(command.optsWithGlobals<ShowFlags>(), terminal)));
  return program;
}

async function audit(flags: AuditFlags, terminal: Terminal): Promise<number> {
  const config = readAuditConfig();
  return await withStore(config.s3, async (store) => {
    const layout = lakeLayout(config.s3);
    const look = (options: LakeAuditOptions) => auditOf(new Ledger(store, layout), flags.kafka ? config.kafka : 'not wanted', options);
    const report = flags.deep === true ? await deeply(look, terminal) : await look({});
    const lines = auditLines(report, `${store.name}/${layout.prefix}`);
    terminal.out(flags.json === true ? `${JSON.stringify({ clean: report.verdict === 'clean', ...report })}\n` : `${lines.join('\n')}\n`);
    return report.verdict === 'findings' ? EXIT.finding : EXIT.good;
  });
}

/** Two objects at once: while one is fetched the other is decoded. */
const DECODED_AT_ONCE = 2;

async function deeply(look: (options: LakeAuditOptions) => Promise<LakeAudit>, terminal: Terminal): Promise<LakeAudit> {
  return await inTemporaryFolder(async (folder) => {
    const database = await Database.open({ threads: 2, tempFolder: folder });
    try {
      return await look({
        lookInto: decodeObject(database, folder),
        atOnce: DECODED_AT_ONCE,
        progress: progressNotes(terminal.note, 'objects decoded'),
      });
    } finally {
      database.close();
    }
  });
}

async function show(flags: ShowFlags, terminal: Terminal): Promise<number> {
  const config = readLakeConfig();
  return await withStore(config.s3, async (store) => {
    const shown: ShownChain[] = [];
    let count = 0;
    let damaged = false;
    for await (const chain of shownChains(new Ledger(store, lakeLayout(config.s3)), flags)) {
      count++;
      damaged ||= chain.entries.some(({ kind }) => kind === 'damaged');
      if (flags.json === true) shown.push(chain);
      else terminal.out(`${chainLines(chain).join('\n')}\n`);
    }
    if (flags.json === true) terminal.out(`${JSON.stringify({ chains: shown })}\n`);
    else if (count === 0) terminal.out('The ledger is empty: nothing was archived there yet.\n');
    return damaged ? EXIT.finding : EXIT.good;
  });
}

async function auditOf(ledger: Ledger, kafka: KafkaConfig | 'not wanted' | undefined, lake: LakeAuditOptions): Promise<LakeAudit> {
  if (kafka === 'not wanted') return await auditLakeAlone(ledger, '--no-kafka', lake);
  if (kafka === undefined) return await auditLakeAlone(ledger, 'KAFKA_BOOTSTRAP_SERVERS is not set', lake);
  const options = { topics: streams[STREAM] ?? [], allowedDelayMs: GROUP.allowedDelayMs, nowMs: Date.now, lake };
  return await withKafka({ ...kafka, clientId: 'tailrace-lake' }, GROUP.name, ALONE, (extents) =>
    auditLakeAndKafka(ledger, extents, options),
  );
}

/** Who has just posted and finds nothing must not think that it is lost. */
const NOT_YET = `What has just arrived is in Kafka only, until the archiver closes its object: after 60 s without a record or 10 min of records, under npm start after 2 s or 10 s. ${TAILRACE} lake audit says how far the lake is behind Kafka.`;

async function query(sql: string, { from, to, json }: QueryFlags, terminal: Terminal): Promise<void> {
  const config = readLakeConfig();
  if (from !== undefined && to !== undefined && from >= to) throw new QueryFault('The window is empty: --from must be earlier than --to.');
  const window: TimeWindow = { fromMs: from, toMs: to };
  const result = await withStore(config.s3, (store) => queryLake(store, lakeLayout(config.s3), sql, window, terminal.note));
  terminal.out(json === true ? `${JSON.stringify(result)}\n` : `${tableLines(result).join('\n')}\n`);
  if (result.rows.length === 0) terminal.note(`${NOT_YET}\n`);
}

async function withStore<T>(s3: S3Config, work: (store: S3Store) => Promise<T>): Promise<T> {
  const store = new S3Store(s3);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}
