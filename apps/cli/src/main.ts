import type { TopicProfile } from '@tailrace/events';
import { type ClusterAdmin, connectAdmin, ENDPOINTS_FILE, hintsFor, reasonsOf, TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { Command, CommanderError, Option } from 'commander';
import { commandPlace, kafkaSettings, ownVersion, type Place, requireLakeSettings, topicProfile } from './config.ts';
import { terminalConfirm } from './confirm.ts';
import { addDlqVerbs } from './dlq-program.ts';
import { lagCommand, lagPorts } from './group.ts';
import { resetCommand, resetWriter } from './group-reset.ts';
import { createOutput, EXIT, type Output } from './output.ts';
import { applyCommand, planCommand } from './topics.ts';
import { networkFault, requireS3, UnreachableError } from './unreachable.ts';
import { appNouns, CHECK_ONLY, runApp } from './verbs.ts';

interface CommonOptions {
  readonly endpoints?: string;
  readonly json?: boolean;
}

/** Runs one command line (without node and script). Resolves with the exit code; says what is wrong in one sentence on standard error. */
export async function main(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.good;
  // What stands behind `--` is no option, whoever reads it: an app gets it as it was given.
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const program = buildProgram(argv.slice(end), (result) => {
    code = result;
  });
  try {
    await program.parseAsync(argv.slice(0, end), { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.good : EXIT.wrongUse;
    process.stderr.write(`${hintsFor(program.opts<CommonOptions>().endpoints, sentence(error))}\n`);
    return error instanceof ConfigError ? EXIT.wrongUse : EXIT.failed;
  }
}

interface ProfileOptions {
  readonly profile?: TopicProfile;
}

function buildProgram(behindDashes: readonly string[], done: (code: number) => void): Command {
  const program = new Command(TAILRACE)
    .description(
      'Works with a tailrace pipeline. Addresses come from the environment (KAFKA_BOOTSTRAP_SERVERS, …) or from an endpoints file.',
    )
    .version(ownVersion(), '--version', 'show the version')
    .option('--endpoints <file>', 'addresses as written by npm start -- --endpoints FILE')
    .option('--json', 'print one JSON object')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .showHelpAfterError(
      `(commands of ${TAILRACE}: topics, group, dlq, ${appNouns.map(({ noun: name }) => name).join(', ')}; ${TAILRACE} --help tells more)`,
    );
  // The program's options count before and behind noun and verb alike.
  const common = (): CommonOptions => program.opts<CommonOptions>();
  const place = (): Place => commandPlace(common().endpoints);
  const withAdmin = async (work: (admin: ClusterAdmin, output: Output) => Promise<number>): Promise<void> => {
    const from = place();
    const settings = kafkaSettings(from);
    const admin = await connectAdmin(settings);
    const output = createOutput(common().json === true, (text) => process.stdout.write(text));
    try {
      done(await work(admin, output));
    } catch (error) {
      if (networkFault(error) === undefined) throw error;
      throw new UnreachableError('Kafka', 'KAFKA_BOOTSTRAP_SERVERS', settings.bootstrapServers, from.file, error);
    } finally {
      await admin.close();
    }
  };
  const profile = (): Option =>
    new Option('--profile <name>', 'one broker or a cluster of three or more (default: TAILRACE_TOPIC_PROFILE, else cluster)').choices([
      'local',
      'cluster',
    ]);
  const profileFor = (options: ProfileOptions): TopicProfile => topicProfile(options.profile, place());

  const topics = noun(program, 'topics', 'Hold the cluster’s topics against their declarations.');
  topics
    .command('plan')
    .description('show what differs; exit code 1 when something does')
    .addOption(profile())
    .allowExcessArguments()
    .action((options, command) => {
      noOtherWords(command, behindDashes, '--profile');
      return withAdmin((admin, output) => planCommand(admin, profileFor(options), output));
    });
  topics
    .command('apply')
    .description('make topics and set settings; partition counts and replicas are never changed')
    .addOption(profile())
    .option('--dry-run', 'change nothing')
    .allowExcessArguments()
    .action((options, command) => {
      noOtherWords(command, behindDashes, '--profile');
      return withAdmin((admin, output) => applyCommand(admin, profileFor(options), options.dryRun === true, output));
    });

  const group = noun(program, 'group', 'Look at consumer groups, and move them.');
  group
    .command('lag')
    .description(
      'show how many records each group has not settled yet, how long they wait, and what stands still; exit code 1 when something does or is late',
    )
    .option('--group <name>', 'only this group')
    .allowExcessArguments()
    .action((options, command) => {
      noOtherWords(command, behindDashes, '--group');
      const settings = kafkaSettings(place());
      return withAdmin((admin, output) =>
        lagCommand(lagPorts(admin, settings), options.group, {
          result: (value, lines) =>
            output.result(
              value,
              lines.map((line) => hintsFor(common().endpoints, line)),
            ),
        }),
      );
    });

  group
    .command('reset')
    .description('move a stopped group to another position; shows what that means, and asks')
    .requiredOption('--group <name>', 'the group')
    .requiredOption('--to <position>', 'earliest, latest, a time (2026-01-31T12:00:00Z) or offset:N (with --topic and --partition)')
    .option('--topic <name>', 'only this topic')
    .option('--partition <number>', 'only this partition')
    .option('--dry-run', 'show what it would do, and change nothing')
    .option('--yes', 'do not ask')
    .allowExcessArguments()
    .action((options, command) => {
      noOtherWords(command, behindDashes, '--group');
      const settings = kafkaSettings(place());
      const ports = { ...resetWriter(settings), confirm: terminalConfirm(), nowMs: Date.now };
      const flags = { dryRun: options.dryRun === true, yes: options.yes === true, json: common().json === true };
      return withAdmin((admin, output) => resetCommand({ ...ports, admin }, { ...options, ...flags }, output));
    });

  const dlq = noun(program, 'dlq', 'Look at dead letters: records that a group could not take.');
  addDlqVerbs(dlq, { place, withAdmin, noOtherWords: (command, option) => noOtherWords(command, behindDashes, option) });

  for (const { noun: name, app, verbs, lakeVerbs, about, checks } of appNouns) {
    program
      .command(name)
      .description(about)
      .argument('[args...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(async (args: string[], _options: object, command: Command) => {
        const [verb] = args;
        if (verb !== undefined && !verb.startsWith('-') && verb !== 'help' && !verbs.some((each) => each === verb)) {
          command.showHelpAfterError(listed(`${TAILRACE} ${name}`, verbs));
          command.error(`error: unknown command '${verb}'`);
        }
        const from = place();
        // The program has read --json, wherever it stood: the app, whose verbs have it as well, is told.
        const told = common().json === true ? [...args.slice(0, 1), '--json', ...args.slice(1)] : args;
        const appArgs = [name, ...told, ...behindDashes];
        if (lakeVerbs.some((each) => each === verb) && !args.includes('--help')) {
          try {
            await requireS3(from.environment, from.file);
          } catch (away) {
            // A command line that is wrong is not waited with until the server is there again.
            const wrong = checks ? await runApp(app, [CHECK_ONLY, ...appArgs], from.environment) : EXIT.good;
            if (wrong === EXIT.good) throw away;
            done(wrong);
            return;
          }
          requireLakeSettings(from);
        }
        done(await runApp(app, appArgs, { ...from.environment, [ENDPOINTS_FILE]: from.file }));
      });
  }
  for (const each of [topics, group, dlq]) {
    each.showHelpAfterError(
      listed(
        `${TAILRACE} ${each.name()}`,
        each.commands.map((command) => command.name()),
      ),
    );
  }
  return program;
}

/** A noun without a verb is wrong use, with the verbs shown. */
function noun(program: Command, name: string, about: string): Command {
  // Without an action of its own: with one, a verb that does not exist would be "too many arguments".
  return program.command(name).description(about).exitOverride();
}

/** A word behind the verb was meant for an option: says which. */
function noOtherWords(command: Command, behindDashes: readonly string[], option: string): void {
  const [word] = [...command.args, ...behindDashes.slice(1)];
  if (word === undefined) return;
  command.error(
    `error: too many arguments ('${word}'): did you mean ${TAILRACE} ${command.parent?.name()} ${command.name()} ${option} ${word}?`,
  );
}

/** What stands below an error about a command. */
function listed(command: string, verbs: readonly string[]): string {
  return `(commands of ${command}: ${verbs.join(', ')})`;
}

/** One sentence for a failed command: the second client hides the reason behind general words in a chain of causes. */
function sentence(error: unknown): string {
  if (error instanceof ConfigError) return error.lines.join('\n');
  if (error instanceof UnreachableError) return error.message;
  return reasonsOf(error);
}
