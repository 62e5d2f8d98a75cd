import { TAILRACE } from '@tailrace/kafka-kit';
import { usages } from '../docs.ts';
import { buildProgram } from './program.ts';

/** The page in docs/reference. */
export function alertsPage(): string {
  const none = { out: () => {}, note: () => {}, nowMs: () => 0, environment: {}, signal: new AbortController().signal };
  const alerts = buildProgram(none, () => {}).commands.find((command) => command.name() === 'alerts');
  if (alerts === undefined) throw new Error('the program has no alerts');
  return `<!-- Generated from apps/alert-processor. Change the text or the commands there, then run its unit tests with UPDATE_DOCS=1. -->
# Looking at alerts, silencing them, and trying notifiers

\`${TAILRACE} alerts\` reads the topic \`alert-state\`, where the alert processor keeps the state of each alert before it tells anybody. It joins no group, and works while no alert processor runs. It needs \`KAFKA_BOOTSTRAP_SERVERS\` (or \`--endpoints FILE\`) and the right to read \`alert-state\`; to silence, the right to write \`alert-partials\`. Only \`try\` needs no server of ours.

## What ls shows

Alerts that fire, the worst and newest first, and those that somebody was not told of. For the latest notification of each, what became of it in every channel:

| words | what they mean |
| --- | --- |
| was told | The receiver has taken it. |
| waits | It was not taken yet, for the reason that is shown, and is tried again. |
| refused it | The receiver will never take this one: it is not tried again. |
| was given up | Tried for 24 h, or its notifier is gone, or more than 64 newer notifications of the same alert wait, too; of these only the number is kept. |
| nobody is told, by silence … | A silence held when it was decided. |

"Decided up to" is the time up to which every partition was decided, as the processors have last written it; a processor writes it when it commits, so it may be a few seconds old. Exit code 1: something fires, or somebody was not told.

An **incident** is one episode of one alert: rule, a hash of the group, and the start of its first firing window. Notifications carry it, and their idempotency key is the incident with a word behind it: \`firing\`, \`again-1\`, \`resolved\`.

## Silences

While a silence holds nobody is told of the alerts under it; they fire, end, are kept and listed all the same. When it ends, or is taken back, and an alert still fires, they are told then; what fired and ended under it is told to nobody. Whoever was told that an alert fires is told that it is over, also under a silence. A silence is of one group of a rule, of a rule, or of all rules, and lasts for at most 30 days; one that is to be kept stands in the rules file, under \`silences\` ([rules.md](rules.md)).

\`silence\` writes to every partition of \`alert-partials\` and waits until all of them hold it, for up to 15 s. While no alert processor runs it says so: the silence then holds before the next one decides anything, if that is within two days (and if one ever ran: it says so, too).

## Trying notifiers

\`try\` reads a notifiers file as the alert processor does, and sends a test through each channel, with the same guards and without a secret in what it shows: an alert of the rule \`tailrace.try\`, severity \`info\`, *A test: nothing is wrong.*, firing and right behind it resolved, under one incident, so that a pager closes what it opened. Each is tried once:

| words | what they mean |
| --- | --- |
| was taken | The receiver has answered that it has it. |
| was not taken | A fault of the moment, as it is shown. Live it would be tried again for 24 h. |
| was refused | The receiver will never take it. Live it would not be tried again; nor is the resolved one sent here. |

Exit code: 0 when all of it was taken, 1 when not, 2 when the file makes no sense.

${usages(alerts)}
`;
}
