import { type ClusterAdmin, readRanges } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { type Command, Option } from 'commander';
import { kafkaSettings, lakeSettings, type Place } from './config.ts';
import { terminalConfirm } from './confirm.ts';
import { lsCommand, type Unsendable } from './dlq-ls.ts';
import {
  type DlqFilter,
  type Place as DlqPlace,
  type DlqTopic,
  dlqTopics,
  parsePlace,
  parseRecordSource,
  parseSource,
  parseTime,
  type Source,
} from './dlq-options.ts';
import type { ReadRanges } from './dlq-read.ts';
import { connectSender, dlqReplayCommand } from './dlq-replay.ts';
import { showCommand } from './dlq-show.ts';
import type { Output } from './output.ts';

/** What the whole command line gives to a noun of its own. */
export interface ProgramTools {
  readonly place: () => Place;
  readonly withAdmin: (work: (admin: ClusterAdmin, output: Output) => Promise<number>) => Promise<void>;
  readonly noOtherWords: (command: Command, option: string) => void;
}

interface LsOptions {
  readonly group?: string;
  readonly reason?: string;
  readonly source?: Source;
  readonly from?: number;
  readonly to?: number;
}

interface ShowOptions {
  readonly group?: string;
  readonly at?: DlqPlace;
  readonly source?: Required<Source>;
}

interface ReplayOptions extends LsOptions {
  readonly group: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** A listing is no count of millions. */
const MAX_COUNTED = 100_000;

/** The verbs of `tailrace dlq`. */
export function addDlqVerbs(dlq: Command, { place, withAdmin, noOtherWords }: ProgramTools): void {
  const reader = (): ReadRanges => {
    const settings = kafkaSettings(place());
    return (ranges) => readRanges(settings, ranges);
  };
  const narrowed = (verb: Command): Command =>
    verb
      .option('--reason <word>', 'only of this reason')
      .addOption(new Option('--source <topic[/partition[/offset]]>', 'only of records that stood there').argParser(parseSource))
      .addOption(new Option('--from <time>', 'only those written at this time or later').argParser(parseTime))
      .addOption(new Option('--to <time>', 'only those written before this time').argParser(parseTime));
  narrowed(dlq.command('ls').option('--group <name>', 'only this group’s'))
    .description(
      'show how many dead letters there are, by reason and service, how far back, and how many are lost; exit code 1 when there are any',
    )
    .allowExcessArguments()
    .action((options: LsOptions, command: Command) => {
      noOtherWords(command, '--reason');
      const filter = filterOf(options);
      const topics = ofSource(dlqTopics(options.group), options.source);
      return withAdmin((admin, output) => lsCommand(admin, reader(), topics, filter, unsendableCounter(place(), topics), output));
    });
  dlq
    .command('show')
    .description('print one dead letter whole')
    .option('--group <name>', 'whose dead letter; needed when several groups have some')
    .addOption(new Option('--at <partition/offset>', 'its place in the dead-letter topic, as ls shows it').argParser(parsePlace))
    .addOption(
      new Option('--source <topic/partition/offset>', 'the place of the record that is dead').argParser(parseRecordSource).conflicts('at'),
    )
    .allowExcessArguments()
    .action((options: ShowOptions, command: Command) => {
      noOtherWords(command, '--at');
      const { group, at, source } = options;
      const wanted = at !== undefined ? { at } : source !== undefined ? { source } : undefined;
      if (wanted === undefined)
        throw new ConfigError(['Say which dead letter: --at PARTITION/OFFSET as dlq ls shows it, or --source TOPIC/PARTITION/OFFSET.']);
      const [topic, ...more] = ofSource(dlqTopics(group), source);
      if (topic === undefined || more.length > 0) throw new ConfigError(['Several groups have dead letters: name one with --group.']);
      return withAdmin((admin, output) => showCommand(admin, reader(), topic, wanted, output));
    });
  narrowed(dlq.command('replay').requiredOption('--group <name>', 'whose dead letters'))
    .description('send dead letters to their group once more, through its side channel; shows which, and asks')
    .option('--dry-run', 'show what it would send, and send nothing')
    .option('--yes', 'do not ask')
    .allowExcessArguments()
    .action((options: ReplayOptions, command: Command) => {
      noOtherWords(command, '--group');
      const filter = filterOf(options);
      const [topic, ...more] = ofSource(dlqTopics(options.group), options.source);
      if (topic === undefined || more.length > 0)
        throw new ConfigError(['Dead letters of several topics are meant: name one with --source.']);
      const flags = { dryRun: options.dryRun === true, yes: options.yes === true, json: command.optsWithGlobals().json === true };
      const settings = kafkaSettings(place());
      const note = (line: string): void => {
        process.stderr.write(`${line}\n`);
      };
      const rest = { read: reader(), connect: () => connectSender(settings), confirm: terminalConfirm(), note, nowMs: Date.now };
      return withAdmin((admin, output) => dlqReplayCommand({ admin, ...rest }, topic, filter, flags, output));
    });
}

/** What narrows a command to some dead letters. Throws ConfigError. */
function filterOf({ reason, source, from: fromMs, to: toMs }: LsOptions): DlqFilter {
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    throw new ConfigError(['The window is empty: --from must be earlier than --to.']);
  }
  return { ...given('reason', reason), ...given('source', source), ...given('fromMs', fromMs), ...given('toMs', toMs) };
}

/** The topics that can hold dead letters of a source. Throws ConfigError when none can. */
function ofSource(topics: readonly DlqTopic[], source: Source | undefined): readonly DlqTopic[] {
  const fitting = source === undefined ? topics : topics.filter((each) => each.source === source.topic);
  if (fitting.length > 0) return fitting;
  throw new ConfigError([`There are no dead letters of ${source?.topic}: name one of ${topics.map((each) => each.source).join(', ')}.`]);
}

function given<K extends string, V>(name: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { [key in K]?: V });
}

/** Counts what lies in the bucket, where the place says which one it is. */
function unsendableCounter(place: Place, topics: readonly DlqTopic[]): (() => Promise<Unsendable>) | undefined {
  const settings = lakeSettings(place);
  if (settings === undefined) return undefined;
  return async () => {
    const { S3Store, StoreError, unsendablePrefix } = await import('@tailrace/lake/store');
    const store = new S3Store(settings);
    const prefix = unsendablePrefix(settings.prefix);
    try {
      let records = 0;
      for (const group of new Set(topics.map((each) => each.group))) {
        for await (const _ of store.list(`${prefix}${group}/`)) if (++records >= MAX_COUNTED) break;
      }
      return { records, where: `${store.name}/${prefix}` };
    } catch (fault) {
      // Safe: that it could not be counted is shown, and is a finding.
      if (fault instanceof StoreError) return { unknown: fault.message };
      throw fault;
    } finally {
      store.close();
    }
  };
}
