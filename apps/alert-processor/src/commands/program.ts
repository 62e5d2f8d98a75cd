import { TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { Command, CommanderError, Option } from 'commander';
import { addAlertsVerbs } from './alerts-program.ts';
import { EXIT, type Ports, type VerbContext } from './ports.ts';
import { addRulesVerbs } from './rules-program.ts';

/** Runs one `rules …` or `alerts …` command line (without node and script). Resolves with the exit code; errors are one sentence. */
export async function alertingCommand(argv: readonly string[], ports: Ports): Promise<number> {
  let code: number = EXIT.good;
  const program = buildProgram(ports, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.good : EXIT.wrongUse;
    if (ports.signal.aborted) return EXIT.interrupted;
    ports.note(`${error instanceof ConfigError ? error.lines.join('\n') : error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof ConfigError ? EXIT.wrongUse : EXIT.failed;
  }
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
  const alerts = program.command('alerts').description('Look at alerts, and silence them.');
  addAlertsVerbs(alerts, context);
  return program;
}
