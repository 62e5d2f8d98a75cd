import { TAILRACE } from '@tailrace/kafka-kit';
import { runProgram } from '@tailrace/service';
import { Command, InvalidArgumentError, Option } from 'commander';
import { cancelCommand } from './cancel-command.ts';
import { listCommand } from './ls-command.ts';
import { type PlanCommandFlags, planCommand } from './plan-command.ts';
import { planRequest } from './plan-request.ts';
import { EXIT, type JsonFlag, type Ports } from './ports.ts';
import { receiptCommand } from './receipt-command.ts';
import { type RunFlags, runCommand } from './run-command.ts';
import { showCommand } from './show-command.ts';
import { parseBytes } from './size.ts';
import { windowCommand } from './window-command.ts';

const MAX_UNREAD = 100_000;

/** Runs one `replay …` command line (without node and script). Resolves with the exit code; errors are one sentence. */
export async function replayCommand(argv: readonly string[], ports: Ports): Promise<number> {
  return await runProgram(argv, (done) => buildProgram(ports, done), ports);
}

function planNumber(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError(`Give the number of a plan, like 7: ${TAILRACE} replay ls shows them.`);
  return Number(text);
}

function countOf(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 1 on.');
  return Number(text);
}

const collected = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** The commands themselves: for the page that is made from them too. */
export function buildProgram(ports: Ports, done: (code: number) => void): Command {
  const json = (): Option => new Option('--json', 'print one JSON object');
  const program = new Command(TAILRACE)
    .exitOverride()
    .configureOutput({ writeOut: (text) => ports.out(text), writeErr: (text) => ports.note(text) })
    .showHelpAfterError(`(${TAILRACE} replay --help lists the commands)`);
  // Of `tailrace` itself, when S3 does not answer: whoever typed something wrong is told that first.
  program.addOption(new Option('--check-only', 'only look whether the command line makes sense').hideHelp());
  const act = async (check: () => void, work: () => Promise<number>): Promise<void> => {
    check();
    done(program.opts<{ readonly checkOnly?: boolean }>().checkOnly === true ? EXIT.good : await work());
  };
  const nothing = (): void => {};
  const replay = program.command('replay').description('Bring a window of time back into one consumer.');
  replay.action(() => replay.help({ error: true }));
  replay
    .command('window')
    .description('show for each partition from when on it can be replayed, from Kafka and from the lake; exit code 1 when there is a hole')
    .addOption(json())
    .action((flags: JsonFlag) => act(nothing, () => windowCommand(flags, ports)));
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
    .option(
      '--where <condition>',
      'only events for which this holds, like "service = checkout"; given several times, all must hold',
      collected,
    )
    .option('--keep <days>', 'let the indexer keep, for so many days, also what is older than it else takes', countOf)
    .option('--dry-run', 'show the plan, and store nothing')
    .addOption(json())
    .action((flags: PlanCommandFlags) =>
      act(
        () => planRequest(flags, ports.nowMs()),
        () => planCommand(flags, ports),
      ),
    );
  replay
    .command('run')
    .description(
      'send a plan onto the side channel of its consumer, or go on with one that was begun, and wait until all of it is applied; exit code 1 when that is not exactly what was sent, or a record became a dead letter',
    )
    .argument('<number>', 'the number of the plan', planNumber)
    .option('--rate <bytes>', 'send at most so much a second, like 5MiB (default: no bound)', parseBytes)
    .option('--max-unread <records>', 'wait while so many records of the side channel are unread', countOf, MAX_UNREAD)
    .addOption(new Option('--source <source>', 'read from there alone (default: chosen while reading)').choices(['kafka', 'lake']))
    .option('--detach', 'end when all is sent')
    .option('--dry-run', 'read everything, show what would be sent, and send nothing')
    .addOption(json())
    .action((id: number, flags: RunFlags) => act(nothing, () => runCommand(id, flags, ports)));
  replay
    .command('receipt')
    .description(
      'show what a run sent and what became of it; exit code 1 when it is not complete, differs, or a record became a dead letter',
    )
    .argument('<number>', 'the number of the plan', planNumber)
    .addOption(json())
    .action((id: number, flags: JsonFlag) => act(nothing, () => receiptCommand(id, flags, ports)));
  replay
    .command('cancel')
    .description('stop the sending of a plan, and let later runs go on; what stands on the side channel is still applied')
    .argument('<number>', 'the number of the plan', planNumber)
    .addOption(json())
    .action((id: number, flags: JsonFlag) => act(nothing, () => cancelCommand(id, flags, ports)));
  replay
    .command('show')
    .description('show a plan, what holds its offsets now, and what became of it')
    .argument('<number>', 'the number of the plan', planNumber)
    .addOption(json())
    .action((id: number, flags: JsonFlag) => act(nothing, () => showCommand(id, flags, ports)));
  replay
    .command('ls')
    .description('list the plans, and what became of them')
    .addOption(json())
    .action((flags: JsonFlag) => act(nothing, () => listCommand(flags, ports)));
  return program;
}
