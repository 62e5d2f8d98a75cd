import { type Command, Option } from 'commander';
import { ALERT_TOPICS, type AlertTopics } from './alerts-kafka.ts';
import { type LsFlags, lsCommand } from './ls-command.ts';
import type { VerbContext } from './ports.ts';
import { showCommand } from './show-command.ts';
import { silenceCommand, silencesCommand, unsilenceCommand } from './silence-command.ts';
import { checkSilence, type SilenceFlags } from './silence-request.ts';
import { type TryFlags, tryCommand } from './try-command.ts';

interface JsonFlag {
  readonly json?: boolean;
}

const collected = (word: string, before: readonly string[] = []): readonly string[] => [...before, word];

/** The verbs of `tailrace alerts`. `topics`: of a test's own. */
export function addAlertsVerbs(alerts: Command, { ports, act }: VerbContext, topics: AlertTopics = ALERT_TOPICS): void {
  const json = (): Option => new Option('--json', 'print one JSON object');
  alerts
    .command('ls')
    .description(
      'show what fires and what somebody was not told of, firing first; exit code 1 when there is any (what was refused or given up counts for a day)',
    )
    .option('--all', 'those that are over, too')
    .option('--rule <name>', 'only of this rule')
    .addOption(json())
    .action((flags: LsFlags) => act(() => lsCommand(flags, ports, topics)));
  alerts
    .command('show')
    .description('show one alert whole: its evidence, what to do, whom it was told, and each try')
    .argument('<rule|incident>', 'the rule, or an incident as ls --json and notifications name it')
    .argument('[group...]', 'of the rule, the group: NAME=VALUE')
    .addOption(json())
    .action((what: string, group: string[], flags: JsonFlag) => act(() => showCommand(what, group, flags.json === true, ports, topics)));
  alerts
    .command('silence')
    .description('tell nobody of some alerts for a while; they are kept and listed all the same')
    .option('--rule <name>', 'of this rule (default: of all)')
    .addOption(
      new Option('--group <name=value>', 'of this group: every field of the rule’s group_by, one --group each').argParser(collected),
    )
    .option('--for <length>', 'for so long, like 30m, 2h or 1d')
    .option('--until <time>', 'until then, with its zone, like 2026-03-01T09:00:00Z')
    .requiredOption('--comment <text>', 'why')
    .addOption(json())
    .action((flags: SilenceFlags) =>
      act(
        () => silenceCommand(flags, ports, topics),
        () => checkSilence(flags, ports.nowMs()),
      ),
    );
  alerts
    .command('unsilence')
    .description('take a silence of the command line back')
    .argument('<id>', 'as silences shows it')
    .addOption(json())
    .action((id: string, flags: JsonFlag) => act(() => unsilenceCommand(id, flags.json === true, ports, topics)));
  alerts
    .command('silences')
    .description('show the silences that hold or will hold; with ALERT_RULES set, those of the rules file, too')
    .option('--all', 'those that are over or taken back, too')
    .addOption(json())
    .action((flags: JsonFlag & { readonly all?: boolean }) => act(() => silencesCommand(flags, ports, topics)));
  alerts
    .command('try')
    .description(
      'send a test through notifiers, firing and then resolved, and say what their receivers made of it; exit code 1 when one did not take it',
    )
    .option('--notifiers <file>', 'the notifiers file (default: ALERT_NOTIFIERS)')
    .addOption(new Option('--name <name>', 'only this one; may be given several times (default: all)').argParser(collected))
    .addOption(json())
    .action((flags: TryFlags) => act(() => tryCommand(flags, ports)));
}
