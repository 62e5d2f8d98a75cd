import { comparableFields, fieldNamed, OPERATORS } from '@tailrace/events';
import type { Command } from 'commander';
import { buildProgram } from './commands/program.ts';
import { MAX_BINS, RELATIVE_ACCURACY } from './measures/bins.ts';
import { MAX_GROUP_VALUE_LENGTH } from './rules/group-of.ts';
import { MAX_FILE_BYTES } from './rules/reading.ts';
import { LOOK_EVERY_MS } from './rules/rule-book.ts';
import { MAX_FILES } from './rules/rule-files.ts';
import { DEFAULTS, fileKeys, measureKeys, ruleKeys, silenceKeys } from './rules/rule-keys.ts';
import { SCHEMA_FILE } from './rules/rules-schema.ts';
import type { KeyTable } from './rules/shapes.ts';
import { MAX_EXPRESSION_DEPTH, MAX_EXPRESSION_LENGTH } from './rules/where/expression.ts';

export const GENERATED =
  '<!-- Generated from apps/alert-processor. Change the tables or the text there, then run its unit tests with UPDATE_DOCS=1. -->';

/** Read by a test, so that it is never wrong. */
export const EXAMPLE = `rules:
  - name: errors-by-service
    summary: "{service} answers with errors"
    where: status_code >= 500 and not (endpoint = "/health")
    group_by: [service]
    measure: count
    window: 1m
    condition: "> 100"
    for: 2m
    severity: critical
    labels: {team: payments}
    response:
      do: Look at the latest deployment.
      do_not: Do not restart all instances at once.
    runbook: https://example.com/runbooks/errors
    renotify: 1h
    notify: [oncall]

silences:
  - rule: errors-by-service
    group: {service: shop}
    from: 2026-01-01T00:00:00Z
    until: 2026-01-01T02:00:00Z
    comment: planned work
`;

/** Forms of an expression, each with an example that a test reads. */
export const EXPRESSIONS = [
  [
    '`field operator value`',
    'status_code >= 500',
    'The field is compared; the value is a number, `true`, `false`, or text in double quotes.',
  ],
  ['`field in (value, …)`', 'service in ("cart", "checkout")', 'It is equal to one of them.'],
  ['`exists(field)`', 'exists(attributes.release)', 'It is there, and not null.'],
  ['`starts_with(field, "text")`', 'starts_with(endpoint, "/v1/")', 'The text begins so.'],
  ['`contains(field, "text")`', 'contains(message, "timeout")', 'The text has it inside.'],
  ['`not …`', 'not level = "info"', 'What follows does not hold.'],
  ['`… and …`', 'level = "error" and latency_ms > 1000', 'Both hold. Binds less than `not`.'],
  ['`… or …`', 'level = "error" or level = "fatal"', 'One of them holds. Binds less than `and`.'],
  ['`( … )`', 'not (level = "info" or level = "debug")', 'What belongs together.'],
] as const;

const cell = (text: string): string => text.replaceAll('|', '\\|');
const code = (text: string): string => (text === '' ? '' : `\`${cell(text)}\``);

/** One row for each key, with those of the maps inside it below it; not of those that have a table of their own. */
function keyRows(keys: KeyTable, before = ''): readonly string[] {
  return Object.entries(keys).flatMap(([name, { shape, required, about, example = '' }]) => [
    `| ${code(before + name)} | ${required === true ? 'yes' : ''} | ${cell(about)} | ${cell(shape.words)} | ${code(example)} |`,
    ...(shape.keys === undefined || shape.keys === measureKeys ? [] : keyRows(shape.keys, `${before}${name}.`)),
  ]);
}

/** The table of keys on a page. */
export function keyTable(keys: KeyTable): string {
  return `| key | required | what it says | what it is | example |\n| --- | --- | --- | --- | --- |\n${keyRows(keys).join('\n')}`;
}

const KINDS = { instant: 'time', string: 'text', number: 'number', integer: 'number', enum: 'text' } as const;

function fieldTable(): string {
  const rows = comparableFields.map((name) => {
    const field = fieldNamed(name);
    if (field === undefined || field.kind === 'object') return '';
    const kind = KINDS[field.kind];
    const operators = kind === 'text' ? OPERATORS.slice(0, 2) : OPERATORS;
    return `| \`${name}\` | ${kind}${field.kind === 'enum' ? `: ${field.values.join(', ')}` : ''} | ${operators.map(code).join(' ')} |`;
  });
  return `| field | is | is compared with |\n| --- | --- | --- |\n${rows.join('\n')}\n| \`attributes.NAME\` | whatever it is | all of them, with a number; \`=\` and \`!=\` else |`;
}

/** How each verb of a noun is called. */
export function usages(noun: Command): string {
  return noun.commands
    .map((command) => {
      command.configureOutput({ getOutHelpWidth: () => 110 });
      return `### ${noun.name()} ${command.name()}\n\n\`\`\`\n${command.helpInformation().trimEnd()}\n\`\`\``;
    })
    .join('\n\n');
}

/** The page in docs/reference. */
export function rulesPage(): string {
  const none = { out: () => {}, note: () => {}, nowMs: () => 0, environment: {}, signal: new AbortController().signal };
  const rules = buildProgram(none, () => {}).commands.find((command) => command.name() === 'rules');
  if (rules === undefined) throw new Error('the program has no rules');
  const forms = EXPRESSIONS.map(([form, example, about]) => `| ${form} | ${code(example)} | ${about} |`);
  return `${GENERATED}
# Rules

A rule says which events belong to it, what is measured over a window of time, when that is an alert, and what whoever is told should do and should not. \`ALERT_RULES\` names the file, or a folder whose \`*.yaml\` and \`*.yml\` files are read together (at most ${MAX_FILES} files of ${MAX_FILE_BYTES / 1024} KiB; hidden ones are left out). They are YAML without aliases.

\`\`\`yaml
${EXAMPLE}\`\`\`

Rules to begin with are in [examples/rules/default.yaml](../../examples/rules/default.yaml). \`npx tailrace rules check FILE\` says what rules mean, or all that is wrong with them, with line and column: every key and value, every field of every expression, and what does not go together. Of a file that is no YAML it is the first place where it is not, and of an expression all up to the place where it is none any more. \`--notifiers FILE\`, or \`ALERT_NOTIFIERS\`, also says which names of \`notify\` that notifiers file does not have. [Test cases](rule-tests.md) say whether they do what they are meant to.

**In an editor.** [${SCHEMA_FILE}](${SCHEMA_FILE}) is the JSON Schema. With this first line, editors that have the YAML language server complete keys and mark what does not fit:

\`\`\`yaml
# yaml-language-server: $schema=../../docs/reference/${SCHEMA_FILE}
\`\`\`

It is made from the tables that the alert processor reads by, and knows keys and values. What only \`rules check\` knows: whether an expression and a field make sense, and whether keys go together.

**Changes** are taken over while the process runs: the files are looked at every ${LOOK_EVERY_MS / 1000} s, and a change counts when it was the same at two looks; a SIGHUP takes it over at once. Files that make no sense, or are gone, change nothing: the old rules go on, the log says why once, and \`/readyz\` is \`degraded\` and names the first problem. At the start they end the process with exit code 2. A rule that is gone from the files, or renamed, is told as over where it was firing, once it has been gone for five minutes; put back before that, its alerts go on under their keys.

## A file

${keyTable(fileKeys)}

## A rule

${keyTable(ruleKeys)}

Lengths of time are whole numbers with a unit: \`30s\`, \`5m\`, \`1h\`, \`1d\`.

A rule's **version** is made from what is counted: the length of a pane, \`where\`, \`group_by\` and the measure. When it changes, counting begins anew. Any other change keeps what was counted, and an alert that is firing goes on or ends by the new condition; other words are said from the next notification on. Neither blanks, comments, the order of keys nor the form of a number or text make another version; nor does another \`p\` or \`against\`.

A rule **looks back** as long as its window, \`for\`, \`against\` and \`remember\` together. What was counted is kept as long as the topic \`alert-partials\` keeps its records: a rule that looks further back is refused, by \`rules check\` too.

## Measures

\`count\` is the number of events. \`absence\` fires when a group that was there before has no event for a whole window. The others are maps with one key:

${keyTable(measureKeys)}

- A field that is absent, null, no number (for ${['sum', 'mean', 'percentile'].map(code).join(', ')}), or a list or an object (for \`distinct\`) is not counted, and neither is its event in \`min_count\`.
- A percentile is at most ${RELATIVE_ACCURACY * 100} % off. Numbers are put into bins, of which each (rule, group) has ${MAX_BINS} above and ${MAX_BINS} below 0 at most: of numbers that are more than a factor of 10^17 apart, the small ones are taken for larger ones.
- \`distinct\` is exact up to its limit (default ${DEFAULTS.distinctLimit}), and the limit and 1 above it. Values are held against each other as groups are: 5 and "5" are the same.
- \`rate\` is nothing where the earlier window had no event, or was not counted. Of a group whose traffic began within the earlier window it is a rise: there were fewer events in it.
- Sums are of floating-point numbers; one beyond the largest number stays at it.
- A condition that no value of its measure can meet (\`"> 20"\` of a ratio), or that every one does, is refused. The fields of the table lie in the bounds of [the event](event.md).
- **What never came is not missed.** A rule knows a group from its first event on, and one without \`group_by\` begins with the first event of its \`where\`: neither \`absence\` nor \`count\` with \`"< 1"\` fires for a service that never came. Of one that came and comes no more both tell: \`absence\` waits for it for \`remember\`, the other ones for 24 h.
- \`>\` and \`>=\` fire as soon as what was counted shows it. \`<\`, \`<=\` and \`absence\` wait until the window is complete: that is \`ALERT_LATENESS_MS\` after its end, and longer while a partition is behind.

## Groups

Each different list of values of the \`group_by\` fields is a group with an alert of its own. Texts are taken as they are, numbers and \`true\` and \`false\` by their JSON; what is absent, null, a list or an object is \`null\`, a value like any other. A text of more than ${MAX_GROUP_VALUE_LENGTH} characters is cut, and ends in a hash of the whole, so two long ones stay apart. Group by what has few values: paths with ids in them are as many groups as there are ids, and \`max_groups\` is then an alert by itself.

## Expressions

| form | example | holds where |
| --- | --- | --- |
${forms.join('\n')}

${fieldTable()}

- A name with other characters than letters, digits, \`_\`, \`-\` and \`.\` stands in quotes: \`attributes."HTTP status"\`. Text in quotes is written as in JSON. Names of fields, words and texts are case-sensitive.
- As in the index and in the lake, \`attributes.NAME\` is also a field of the event that is not in the table.
- **What is absent.** A comparison with a field that is absent, null or of another type does not hold, with \`!=\` neither. \`not\` turns that round: \`not (endpoint = "/health")\` holds for an event without an endpoint, and \`endpoint != "/health"\` does not.
- A number in quotes is a number for a field that is one, and text for an attribute: \`attributes.code = 5\` and \`attributes.code = "5"\` are not the same.
- There are no patterns, no arithmetic and no scripts: what an expression costs is bounded. It has at most ${MAX_EXPRESSION_LENGTH} characters, and at most ${MAX_EXPRESSION_DEPTH} parentheses and \`not\` in each other.

## Silences

${keyTable(silenceKeys)}

A silence keeps an alert from being told; it is still decided, kept and listed. \`npx tailrace alerts silence\` makes one without a file.

## Commands

Exit codes: 0 good; 1 something is wrong with the rules, or a server does not answer; 2 wrong use, or a file that can not be read; 130 interrupted.

${usages(rules)}
`;
}
