import { PROBE_PATHS } from '@tailrace/service';
import { ANSWERS, type AnswerCode } from './answers.ts';
import { gatewayVariables } from './config.ts';
import { DECISIVE_TYPES, TYPE_OF } from './intake/body-format.ts';
import { EVENTS_PATH } from './server.ts';

export const EXAMPLE_URL = 'http://127.0.0.1:8080';

/** The commands on the page; a test runs each of them. */
export const CURL_EXAMPLES: readonly { readonly what: string; readonly command: string }[] = [
  { what: 'A file with one event per line:', command: `curl -sS ${EXAMPLE_URL}${EVENTS_PATH} --data-binary @events.ndjson` },
  {
    what: 'The same, packed on its way:',
    command: `gzip -c events.ndjson | curl -sS ${EXAMPLE_URL}${EVENTS_PATH} -H 'content-encoding: gzip' --data-binary @-`,
  },
  {
    what: 'A JSON array, indented or not:',
    command: `curl -sS ${EXAMPLE_URL}${EVENTS_PATH} -H 'content-type: application/json' --data-binary @events.json`,
  },
];

/** The answer that each limit has. */
const LIMITS: readonly (readonly [Exclude<keyof typeof gatewayVariables, 'service' | 'kafka'>, AnswerCode])[] = [
  ['maxBodyBytes', 'body_too_large'],
  ['maxEvents', 'too_many_events'],
  ['maxEventBytes', 'events_too_large'],
  ['maxInFlightBytes', 'too_busy'],
  ['requestTimeoutMs', 'request_timeout'],
  ['deadlineMs', 'deadline_passed'],
];

const code = (text: string) => `\`${text}\``;

function typesOf(format: 'ndjson' | 'json'): string {
  const types = Object.keys(DECISIVE_TYPES).filter((type) => DECISIVE_TYPES[type] === format);
  return [...types, ...(format === 'json' ? ['application/*+json'] : [])].map(code).join(', ');
}

/** The page `docs/reference/http-api.md`: how events are posted. */
export function httpPage(): string {
  const limits = LIMITS.map(([key, answer]) => {
    const variable = gatewayVariables[key];
    return `| ${code(variable.name)} | ${variable.about} | ${code(variable.need.default)} | ${ANSWERS[answer].status} ${code(answer)} |`;
  });
  return `<!-- Generated from apps/ingest-gateway. Change the tables there, then run its unit tests with UPDATE_DOCS=1. -->
# HTTP API of the gateway

${code(`POST ${EVENTS_PATH}`)} takes events; ${PROBE_PATHS.map((path) => code(`GET ${path}`)).join(', ')} tell how the gateway is. Every answer to a post is JSON: [errors.md](errors.md). The fields of an event: [event.md](event.md).

${CURL_EXAMPLES.map(({ what, command }) => `${what}\n\n\`\`\`sh\n${command}\n\`\`\``).join('\n\n')}

Take \`--data-binary\`: \`-d\` takes the line ends out of a file, and what was one event per line is one long line.

## How a body is read

| content type | the body is |
| --- | --- |
| ${typesOf('json')} | a JSON array of events, or one event |
| ${typesOf('ndjson')} | NDJSON: one event per line |
| any other (${code(TYPE_OF.form)}, which curl sends unasked; \`text/plain\`, which fetch sends) or none | what it looks like: a JSON array when it begins with \`[\`; one event when it is one JSON object, on one line or over several; else one event per line |

A type matters in two cases. Say \`application/x-ndjson\` where a line may be broken: then a first line that begins with \`[\`, or that was cut off, costs only itself, and only a body that is one whole document over several lines is refused. Say \`application/json\` where a body that is not one whole JSON array or object is always a mistake.

A body is UTF-8, with or without a byte order mark. Blank lines and CR LF are fine. A body that begins with a document over several lines is never kept in part, as if its lines were events: one that is cut off, or has something behind its end, is answered with 400 and nothing of it is kept. An array or NDJSON in which single events are bad is answered with 207, and the good ones are kept.

## Packed bodies

The one packing is gzip, and the header \`content-encoding: gzip\` must say so; the content type is about the unpacked body. The largest body counts both as it is sent and unpacked, so packing does not make room for more events in a post.

## Limits

| setting | what it is | default | beyond it |
| --- | --- | --- | --- |
${limits.join('\n')}

An event that is too large is the error of its line or element (207) as long as others are good. A request needs a \`Host\` header, and of \`Expect\` only \`100-continue\` is understood.
`;
}
