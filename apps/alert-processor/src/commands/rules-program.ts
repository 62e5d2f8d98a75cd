import { type Command, Option } from 'commander';
import { checkCommand } from './check-command.ts';
import type { VerbContext } from './ports.ts';

/** The verbs of `tailrace rules`. */
export function addRulesVerbs(rules: Command, { ports, act }: VerbContext): void {
  rules
    .command('check')
    .description('say what rules mean, or everything that is wrong with them, with line and column; exit code 1 when something is')
    .argument('<file...>', 'rules files, or folders whose *.yaml files are read together')
    .addOption(new Option('--json', 'print one JSON object'))
    .action((paths: string[], flags: { readonly json?: boolean }) => act(() => checkCommand(paths, flags, ports)));
  // `rules test` and `rules backtest` are added here.
}
