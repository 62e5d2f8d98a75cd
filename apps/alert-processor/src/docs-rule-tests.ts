import { TAILRACE } from '@tailrace/kafka-kit';
import { GENERATED, keyTable } from './docs.ts';
import { readRules } from './rules/read-rules.ts';
import { SCHEMA_FILE } from './rules/rules-schema.ts';
import { BACKTEST_TICK_MS } from './simulate/backtest.ts';
import { CASE_PARTITIONS, caseKeys, eventKeys, expectKeys, MAX_CASE_EVENTS } from './simulate/case-keys.ts';
import { readCases } from './simulate/read-cases.ts';
import { resultLines, summaryLine } from './simulate/result-lines.ts';
import { type CaseResult, runCase } from './simulate/run-case.ts';

/** Read and run by a test, as every example here. */
export const RULES = `rules:
  - name: errors-by-service
    summary: "{service} answers with errors"
    where: status_code >= 500
    group_by: [service]
    measure: count
    window: 1m
    condition: "> 10"
    severity: critical
    response:
      do: Look at the latest deployment.
      do_not: Do not restart all instances at once.
  - name: silent-service
    summary: "{service} fell silent"
    group_by: [service]
    measure: absence
    window: 5m
    response:
      do: See whether it still takes requests.
      do_not: Do not take silence for health.
`;

export const FIRST = `cases:
  - name: a burst of errors pages once
    rules: alerts.yaml
    only: [errors-by-service]
    events:
      - {at: 5s, every: 1s, times: 20, event: {service: shop, status_code: 503}}
    expect:
      - {rule: errors-by-service, group: {service: shop}, fires_at: 15s, resolves_at: 2m..3m, severity: critical, value: 11}

  - name: an error now and then does not
    rules: alerts.yaml
    only: [errors-by-service]
    events:
      - {at: 0s, every: 10s, times: 60, event: {service: shop, status_code: 503}}
    expect: []
`;

export const LATE = `cases:
  - name: errors that come half a minute late count for when they happened
    rules: alerts.yaml
    only: [errors-by-service]
    events:
      - {at: 0s, every: 1s, times: 11, delay: 30s, event: {service: shop, status_code: 503}}
    expect:
      - {rule: errors-by-service, group: {service: shop}, fires_at: 40s}
`;

export const SILENT = `cases:
  - name: a service that stops is missed
    rules: alerts.yaml
    only: [silent-service]
    events:
      - {at: 0s, every: 10s, times: 6, event: {service: shop}}
    expect:
      # The last pane with an event ends at 1m; five minutes later, and a minute of lateness:
      - {rule: silent-service, group: {service: shop}, fires_at: 7m, resolves_at: never}
`;

/** A case that is wrong: what is printed of it. */
const FAILING = FIRST.replace('value: 11', 'value: 20').replace(
  'expect: []',
  'expect: [{rule: errors-by-service, group: {service: shop}, fires_at: 1m}]',
);

/** Results of the cases of a text of this page. Throws where they can not be read. */
export function exampleResults(text: string): readonly CaseResult[] {
  const options = { file: 'alerts.yaml', paneMs: 10_000, latenessMs: 60_000 };
  const read = readCases('alerts.test.yaml', text, () => readRules(RULES, options));
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.cases.map(runCase);
}

function printed(text: string): string {
  const results = exampleResults(text);
  return [...results.flatMap(resultLines), summaryLine(results)].join('\n');
}

/** The page in docs/reference. */
export function ruleTestsPage(): string {
  return `${GENERATED}
# Test cases of rules

A case says which events come in and which alerts there are. It runs on the code that runs live, under a clock of its own, in milliseconds, and needs no server: put cases beside the rules, and run them where the rules are changed.

\`\`\`yaml
# alerts.yaml
${RULES}\`\`\`

\`\`\`yaml
# alerts.test.yaml
${FIRST}\`\`\`

\`${TAILRACE} rules test alerts.test.yaml\` prints

\`\`\`
${printed(FIRST)}
\`\`\`

and, had the cases expected something else,

\`\`\`
${printed(FAILING)}
\`\`\`

Exit codes: 0 all cases are good; 1 one is not as expected; 2 a file can not be read, or makes no sense: then every problem is told with its line and column. \`--json\` prints one object with every alert of every case. A rules file may hold its cases itself, under \`cases\`: then they name no \`rules\`.

**Expectations are complete.** Every alert of a case is expected, or the case fails: \`expect: []\` says that there is none. Where only some rules are looked at, \`only\` names them.

**Times** are after the start of the case: \`90s\`, \`1m30s\`. \`fires_at: 15s\` is the second that begins then, and \`15s..20s\` the seconds from 15 to 20. Alerts above a threshold fire when the event comes that makes them, at the next tick (\`ALERT_TICK_MS\`, here 250 ms). Everything that must be sure that nothing is missing (the end of an alert, \`<\`, \`absence\`) comes at the end of a window, \`ALERT_LATENESS_MS\` later. \`ALERT_PANE_MS\` and \`ALERT_LATENESS_MS\` count here as they do live: set them to what yours are.

**What is absent**:

\`\`\`yaml
${SILENT}\`\`\`

**What comes late.** \`delay\` is how much later than it happens an event arrives. It counts for the time in which it happened, unless it is later than the lateness allows:

\`\`\`yaml
${LATE}\`\`\`

**In an editor.** [${SCHEMA_FILE}](${SCHEMA_FILE}) knows cases, too: see [rules](rules.md).

Cases of the rules to begin with are in [examples/rules/default.test.yaml](../../examples/rules/default.test.yaml).

## A case

${keyTable(caseKeys)}

Silences of the rules file hold in a case as they do live: \`start\` says what time it is. The stream has ${CASE_PARTITIONS} partitions, and a case at most ${MAX_CASE_EVENTS} events.

## An event

${keyTable(eventKeys)}

An event is checked as the gateway checks it: what it would refuse can not be tested, and is told.

## An expected alert

${keyTable(expectKeys)}

## Upon what was: backtest

\`${TAILRACE} rules backtest --rules alerts.yaml --from 2026-03-01T00:00:00Z --to 2026-03-08T00:00:00Z\` runs rules over what was recorded, and says how often, when and for whom each would have fired: by day and by group, the first and the last time, the longest one, and every single alert up to a thousand (\`--json\` has all of them). \`--rule NAME\` takes one rule. Nobody is told, no group is joined, and nothing is committed.

- Each record is read from the lake or from Kafka, wherever it is, from as long before \`--from\` as the rules look back: the first window is full. What fired before \`--from\` and goes on is counted apart.
- It runs on the code that runs live, under the brokers' time, with a tick of ${BACKTEST_TICK_MS / 1000} s, and as if no partition had ever been behind. Live, an alert may have come later than here, and never for another reason.
- Silences of the rules file hold, and are counted. Events of tailrace's own canary are left out.
- Records that are lost, or from before the archive, are named with their offsets. Where some are in neither the lake nor Kafka, and nobody has declared them lost, the exit code is 1: the answer may be wrong.
`;
}
