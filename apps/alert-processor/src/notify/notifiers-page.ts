import { TAILRACE } from '@tailrace/kafka-kit';
import { keyTable } from '../docs.ts';
import { DELIVERY_LIMITS } from './deliveries.ts';
import { COMMON_KEYS, KIND_NAMES, NOTIFIER_KINDS } from './notifier-kinds.ts';
import { notifiersSchema } from './read-notifiers.ts';
import { WEBHOOK_SCHEMA_FILE } from './webhook-schema.ts';

export const NOTIFIERS_SCHEMA_FILE = 'notifiers.schema.json';
export const RECEIVER_EXAMPLE = 'examples/receive-webhook.mjs';

/** Read by a test, so that it is never wrong. */
export const NOTIFIERS_EXAMPLE = `# yaml-language-server: $schema=../docs/reference/${NOTIFIERS_SCHEMA_FILE}
notifiers:
  - name: oncall
    kind: webhook
    url: https://oncall.example.com/tailrace
    secret: {env: ONCALL_SECRET}
  - name: pager
    kind: pagerduty
    routing_key: {file: /run/secrets/pagerduty}
  - name: chat
    kind: slack
    url: {env: SLACK_WEBHOOK_URL}
`;

const { sends, held, tryMs, giveUpMs, retryAfterMs, backoff } = DELIVERY_LIMITS;

/** The JSON Schema of a notifiers file, for editors. */
export function notifiersSchemaText(): string {
  return `${JSON.stringify(notifiersSchema(), undefined, 2)}\n`;
}

/** The page in docs/reference. */
export function notifiersPage(): string {
  const kinds = KIND_NAMES.map((name) => {
    const { about, notes, keys } = NOTIFIER_KINDS[name];
    return `### ${name}\n\n${[about, ...notes].join('\n\n')}\n\n${keyTable(keys)}`;
  });
  return `<!-- Generated from apps/alert-processor. Change the tables or the text there, then run its unit tests with UPDATE_DOCS=1. -->
# Notifiers

Who is told of alerts, and how. \`ALERT_NOTIFIERS\` names the file; it is read at the start, and all that is wrong in it is told at once, with line and column. Without the file nobody is told: alerts are kept, logged, and listed by \`${TAILRACE} alerts ls\`. A rule tells those that its \`notify\` names, or all.

\`${TAILRACE} rules check --notifiers FILE RULES\` says what is wrong in it, and which names of \`notify\` it does not have. \`${TAILRACE} alerts try --notifiers FILE\` sends a test through each of them and says what its receiver made of it ([alerts.md](alerts.md#trying-notifiers)).

\`\`\`yaml
${NOTIFIERS_EXAMPLE}\`\`\`

In an editor, [${NOTIFIERS_SCHEMA_FILE}](${NOTIFIERS_SCHEMA_FILE}) completes keys and marks what does not fit.

**Secrets** never stand in the file: \`{env: NAME}\` names a variable of the environment (capitals, digits, \`_\`), \`{file: PATH}\` a file that holds one line, looked for beside the notifiers file. They are read once, at the start, and are in no log, no state and no reason.

## Every notifier

${keyTable(COMMON_KEYS)}

## Kinds

${kinds.join('\n\n')}

## What is promised

- At least once, always under the same key. A notification is first written to \`alert-state\` as pending, then sent, then written as sent: what happens between the last two (a kill, a lost answer) is sent again, by whoever takes over. A receiver that remembers keys has it exactly once.
- Firing before resolved, in each channel, for each alert. Between alerts there is no order.
- No channel waits for another. Each has ${sends} sends at a time and holds at most ${held} notifications; what is above waits in \`alert-state\`.
- A try has ${tryMs / 1000} s (a mail 60 s). After a fault of the moment comes another one, the first within ${backoff.firstMs / 1000} s and then at growing distances up to ${backoff.maxMs / 1000} s; \`Retry-After\` is kept to for up to ${retryAfterMs / 60_000} min, by the whole channel. ${giveUpMs / 3_600_000} h after it was decided it is given up.
- \`${TAILRACE} alerts ls\` shows what waits, what was refused and what was given up, with the reason, and \`tailrace_alert_sends_total\` counts it ([metrics.md](metrics.md)).

| what a receiver over HTTP answers | what is made of it |
| --- | --- |
| 2xx | told |
| 408, 425, 429, 5xx | tried again |
| 401, 403, 407 | tried again: a credential is wrong, which says nothing of the notification; mend it within the ${giveUpMs / 3_600_000} h, and what waited goes |
| 3xx | refused: redirects are not followed |
| other 4xx | refused: not tried again |
| no connection, no answer in time, no HTTP, a connection that breaks off | tried again |

The answer's body is read up to 4 KiB and 2 s, for the reason only.

## Where a notifier may connect to

To \`http\` and \`https\` (and SMTP for mail), and to public addresses only: a rules file or a name server in wrong hands must not make the alert processor post into your network. Private, loopback, link-local, shared, documentation, multicast and reserved addresses of IPv4 and IPv6 are refused, IPv4 addresses in IPv6 clothes and the clouds' metadata services among them, in whatever spelling. What counts is the address that is connected to, not one that was looked up before. \`allow_private: true\` permits them for one notifier. Certificates are checked against the system's; \`NODE_EXTRA_CA_CERTS\` adds your own.

## Receiving a webhook

The body is JSON by [${WEBHOOK_SCHEMA_FILE}](${WEBHOOK_SCHEMA_FILE}); fields that you do not know may come. Its headers:

| header | what it holds |
| --- | --- |
| \`Idempotency-Key\` | \`key\` of the body: remember those of a few days, and answer 200 to one that you know |
| \`X-Tailrace-Timestamp\` | when this try was made, in seconds since 1970 |
| \`X-Tailrace-Signature\` | \`sha256=\` and, in hex, the HMAC-SHA256 with \`secret\` over timestamp, a dot, and the body as it came; only with \`secret\` |

To check a post: compute the signature over the bytes as they came, before any JSON is parsed; compare in constant time; refuse a timestamp more than 5 minutes off, or a recorded post can be used again. [${RECEIVER_EXAMPLE}](../../${RECEIVER_EXAMPLE}) does this:

\`\`\`
TAILRACE_WEBHOOK_SECRET=… node ${RECEIVER_EXAMPLE} 8099
\`\`\`
`;
}
