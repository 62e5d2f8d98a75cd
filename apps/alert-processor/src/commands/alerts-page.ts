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

Alerts that fire, the worst and newest first, and those that a channel is still to be told of. For the latest notification of each, and for those before it that still wait, what became of it in every channel:

| words | what they mean |
| --- | --- |
| was told | The receiver has taken it. |
| waits | It was not taken yet, and is tried again. |
| waits behind an earlier one | Of one alert nothing is sent before what comes before it. |
| refused it | The receiver will never take this one: it is not tried again. |
| was given up | Tried for 24 h, or its notifier is gone, or more than 64 newer notifications of the same alert wait, too; of these only the number is kept. |
| nobody is told, by silence … | A silence held when it was decided. |

Tries are "at least" so many: of a receiver that is away each doubling is written, and what a process that was killed tried last is not. \`tailrace_alert_sends_total\` counts each.

Behind the alerts stands one line for each channel that was not told of something: how much waits and since when, how much was refused or given up in the last day, and the reason of the latest try. \`show\` has all of it for one alert.

What was refused or given up can not be told any more, and needs nothing to be dismissed: it is listed, and is a finding, for a day. It leaves earlier where the alert's record does: a later notification pushes it out, or the alert has been over for longer than the rules look back and an hour.

"Since" is when it was decided that the alert fires, and the window that this was decided from; of an absence the window's start is when all fell silent. The incident and \`since\` of \`--json\` have the window's start, \`first_decided\` the other one.

"Decided up to" is the time up to which every partition was decided, as the processors have last written it; a processor writes it when it commits, so it may be a few seconds old. Exit code 1: something fires, something waits to be told, or something was refused or given up in the last day. A rule that neither the rules nor what has fired know is wrong use: exit code 2.

An **incident** is one episode of one alert: rule, a hash of the group, and the start of its first firing window. Notifications carry it, and their idempotency key is the incident with a word behind it: \`firing\`, \`again-1\`, \`resolved\`.

## Silences

While a silence holds nobody is told of the alerts under it; they fire, end, are kept and listed all the same. When it ends, or is taken back, and an alert still fires (in the window that goes on or in the last one that is over), they are told then; what fired and ended under it is told to nobody. Whoever was told that an alert fires is told that it is over, also under a silence. A silence is of one group of a rule, of a rule, or of all rules, and lasts for at most 30 days; one that is to be kept stands in the rules file, under \`silences\` ([rules.md](rules.md)).

The rule's name is held against the rules of \`ALERT_RULES\` (with \`--endpoints\` of \`npm start\`, those of that start), and against what has fired; where neither knows it, it is taken, and said that it was not checked. A group's values can not be checked: \`silence\` says how many of the alerts that fire now it matches. A group that has not fired yet can be silenced where the rules are known.

\`silence\` writes to every partition of \`alert-partials\` and waits until all of them hold it, for up to 15 s. While no alert processor runs it says so: the silence then holds before the next one decides anything, if that is within two days (and if one ever ran: it says so, too).

## Trying notifiers

\`try\` reads a notifiers file as the alert processor does, and sends a test through each channel, with the same guards and without a secret in what it shows: an alert of the rule \`tailrace.try\`, severity \`info\`, *A test: nothing is wrong.*, firing and right behind it resolved, under one incident, so that a pager closes what it opened. Each is tried once, for 10 s at most (a mail for a minute), and told as soon as it is known:

| words | what they mean |
| --- | --- |
| was taken | The receiver has answered that it has it. |
| was not taken | A fault of the moment, as it is shown. Live it would be tried again for 24 h. The resolved one is not sent here. |
| was refused | The receiver will never take it. Live it would not be tried again; nor is the resolved one sent here. |

Exit code: 0 when all of it was taken, 1 when not, 2 when the file makes no sense.

${usages(alerts)}
`;
}
