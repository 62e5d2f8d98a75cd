import { TAILRACE } from '@tailrace/kafka-kit';
import { runProgram } from '@tailrace/service';
import { Command, Option } from 'commander';
import { addAlertsVerbs } from './alerts-program.ts';
import { EXIT, type Ports, type VerbContext } from './ports.ts';
import { addRulesVerbs } from './rules-program.ts';

/** Runs one `rules …` or `alerts …` command line (without node and script). Resolves with the exit code; errors are one sentence. */
export async function alertingCommand(argv: readonly string[], ports: Ports): Promise<number> {
  return await runProgram(argv, (done) => buildProgram(ports, done), ports);
}

/** The commands themselves: for the page that is made from them too. */
export function buildProgram(ports: Ports, done: (code: number) => void): Command {
  const program = new Command(TAILRACE)
    .exitOverride()
    .configureOutput({ writeOut: (text) => ports.out(text), writeErr: (text) => ports.note(text) })
    .showHelpAfterError(`(${TAILRACE} rules --help and ${TAILRACE} alerts --help list the commands)`);
  // Of `tailrace` itself, when a server does not answer: whoever typed something wrong is told that first.
  program.addOption(new Option('--check-only', 'only look whether the command line makes sense').hideHelp());
  const context: VerbContext = {
    ports,
    act: async (work, check) => {
      check?.();
      done(program.opts<{ readonly checkOnly?: boolean }>().checkOnly === true ? EXIT.good : await work());
    },
  };
  const rules = program.command('rules').description('Check, test and backtest rules.');
  addRulesVerbs(rules, context);
  const alerts = program.command('alerts').description('Look at alerts, silence them, and try notifiers.');
  addAlertsVerbs(alerts, context);
  // Of the verb that somebody typed, and not of all there are.
  for (const verb of [rules, alerts].flatMap(({ commands }) => commands))
    verb.showHelpAfterError(`(${TAILRACE} ${verb.parent?.name()} ${verb.name()} --help tells more)`);
  return program;
}
