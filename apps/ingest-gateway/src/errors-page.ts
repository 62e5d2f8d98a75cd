import { ANSWERS } from './answers.ts';

/** The page `docs/reference/errors.md`: every answer of the gateway. */
export function errorsPage(): string {
  const rows = Object.entries(ANSWERS).map(([code, row]) => {
    const wait = 'retryAfterSeconds' in row ? `after ${row.retryAfterSeconds.join(' to ')} s` : '';
    return `| ${row.status} | \`${code}\` | ${row.message} | ${wait} |`;
  });
  return `<!-- Generated from apps/ingest-gateway/src/answers.ts. Change the table there, then run its unit tests with UPDATE_DOCS=1. -->
# Answers of the gateway

\`POST /v1/events\` answers with JSON, and so does every broken request. \`error\` is one of the codes below and never changes its meaning; \`message\` is for people.

| status | code | what it says | repeat the post |
| --- | --- | --- | --- |
${rows.join('\n')}

- **200** \`{"accepted":n}\`: all n events are in Kafka, acknowledged by every copy that must have them.
- **207** \`{"accepted":n,"rejected":m,"errors":[...]}\`: n events are in Kafka, m are not. \`errors\` lists the first 100 of these: \`line\` (the line of the body or the place in the array, from 1), \`field\` (null: the event as a whole), \`reason\`. \`errors_omitted\` says how many more there are. A 400 or 413 about events has the same list.
- **503** \`deadline_passed\` also counts \`withdrawn\` (not in Kafka) and \`unknown\` (perhaps in Kafka). \`accepted\`, \`rejected\`, \`withdrawn\` and \`unknown\` add up to the number of events in the body.
- **429** and **503** have a \`Retry-After\` header in seconds. There is no 500: many clients drop what they hold when they see one.
- How a body is read, packing and limits: [http-api.md](http-api.md).
- A post that is repeated may keep an event twice, never less than once.
`;
}
