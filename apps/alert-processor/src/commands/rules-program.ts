import { streams } from '@tailrace/events';
import { STREAM } from '@tailrace/lake';
import { type Command, Option } from 'commander';
import { type BacktestFlags, backtestCommand, backtestRules, backtestTimes } from './backtest-command.ts';
import { type CheckFlags, checkCommand } from './check-command.ts';
import type { VerbContext } from './ports.ts';
import { testCommand } from './test-command.ts';

/** The verbs of `tailrace rules`. */
export function addRulesVerbs(rules: Command, { ports, act }: VerbContext): void {
  rules
    .command('check')
    .description('say what rules mean, or everything that is wrong with them, with line and column; exit code 1 when something is')
    .argument('<file...>', 'rules files, or folders whose *.yaml files are read together')
    .option(
      '--notifiers <file>',
      'the notifiers file: say what is wrong in it, too, and which names of notify it does not have (default: ALERT_NOTIFIERS)',
    )
    .addOption(new Option('--json', 'print one JSON object'))
    .action((paths: string[], flags: CheckFlags) => act(() => checkCommand(paths, flags, ports)));
  rules
    .command('test')
    .description('run test cases of rules: events in, alerts out; exit code 1 when one is not as expected')
    .argument('<file...>', 'files of test cases; a rules file may hold some, too')
    .addOption(new Option('--json', 'print one JSON object'))
    .action((files: string[], flags: { readonly json?: boolean }) => act(() => testCommand(files, flags, ports)));
  rules
    .command('backtest')
    .description(
      'say how often, when and for whom rules would have fired, from lake and Kafka; exit code 1 when records of the window are in neither',
    )
    .option(
      '--rules <path>',
      'a rules file, or a folder whose *.yaml files are read together (default: ALERT_RULES, or those of --endpoints)',
    )
    .requiredOption('--from <time>', 'the first instant of the window, with its zone, like 2026-03-01T09:00:00Z')
    .requiredOption('--to <time>', 'the first instant behind the window, with its zone')
    .option('--rule <name>', 'only this rule')
    .addOption(new Option('--json', 'print one JSON object'))
    .action((flags: BacktestFlags) =>
      act(
        () => backtestCommand(flags, ports, streams[STREAM] ?? []),
        () => {
          backtestRules(flags, ports.environment);
          backtestTimes(flags, ports.nowMs());
        },
      ),
    );
}
