import { maxHeaderSize } from 'node:http';
import type { Rejection, Rejections } from './intake/rejections.ts';

/** Each answer of the gateway: its HTTP status, what it says, and after how many seconds (from, to) the post may be repeated. */
interface AnswerRow {
  readonly status: number;
  readonly message: string;
  readonly retryAfterSeconds?: readonly [from: number, to: number];
}

/**
 * Every answer the gateway can give. A code never changes its meaning. There is no 500: clients take it for final and drop what
 * they hold, so what may succeed later is 503, with the time to wait.
 */
export const ANSWERS = {
  accepted: { status: 200, message: 'Every event is kept.' },
  partly_accepted: { status: 207, message: 'The events that are not listed are kept. Mend the listed ones and post only these again.' },
  bad_request: { status: 400, message: 'This is not an HTTP/1.1 request that can be read. Look at its request line, headers and framing.' },
  missing_host: { status: 400, message: 'The request has no Host header, which HTTP/1.1 demands. Send one, like Host: localhost.' },
  empty_body: { status: 400, message: 'There is no event in the body.' },
  invalid_gzip: { status: 400, message: 'The body is not one whole gzip stream.' },
  invalid_json: {
    status: 400,
    message: 'The body is not valid JSON, so nothing is kept. One event per line is posted as application/x-ndjson.',
  },
  event_over_lines: { status: 400, message: 'A JSON document in the body goes over several lines, so nothing is kept.' },
  no_valid_event: { status: 400, message: 'No event is valid, so nothing is kept. Mend the listed ones and post again.' },
  not_found: { status: 404, message: 'Nothing is here. Events are posted to /v1/events.' },
  method_not_allowed: { status: 405, message: 'This path does not take that method.' },
  request_timeout: {
    status: 408,
    message: 'The request did not arrive whole in its time (GATEWAY_REQUEST_TIMEOUT_MS). Post it again, smaller or over a faster way.',
  },
  body_too_large: { status: 413, message: 'The body is too large, so nothing is kept. Post fewer events at once.' },
  too_many_events: { status: 413, message: 'There are too many events in the body, so nothing is kept. Post fewer at once.' },
  events_too_large: { status: 413, message: 'Every event is too large, so nothing is kept. Make the events themselves smaller.' },
  unsupported_encoding: { status: 415, message: 'This content encoding is not understood. Post the body as it is, or with gzip.' },
  undeclared_encoding: { status: 415, message: 'The body is packed, and no header says so.' },
  expectation_failed: { status: 417, message: 'Only Expect: 100-continue is understood. Leave the Expect header out.' },
  headers_too_large: {
    status: 431,
    message: `The request line and the headers have more than ${maxHeaderSize} bytes together. Send fewer or shorter ones.`,
  },
  too_busy: {
    status: 429,
    message: 'Too much is in flight already. Nothing of this post is kept; post it again later.',
    retryAfterSeconds: [1, 3],
  },
  kafka_unavailable: {
    status: 503,
    message: 'Kafka can not be reached. Nothing of this post is kept; post it again later.',
    retryAfterSeconds: [2, 5],
  },
  deadline_passed: {
    status: 503,
    message:
      'Kafka did not confirm every event in time. The withdrawn ones are not kept, the unknown ones may be; posting again may keep an event twice.',
    retryAfterSeconds: [2, 5],
  },
  stopping: {
    status: 503,
    message: 'This gateway is stopping. Nothing of this post is kept; post it again, to another one.',
    retryAfterSeconds: [1, 3],
  },
  internal_fault: {
    status: 503,
    message: 'The gateway itself failed; its log says how. Whether the events are kept is unknown; posting again may keep an event twice.',
    retryAfterSeconds: [5, 10],
  },
} as const satisfies Record<string, AnswerRow>;

export type AnswerCode = keyof typeof ANSWERS;

/** What became of the events of a post. Every event is counted once: the sum is the number of events in the body. */
export interface Fates {
  readonly accepted: number;
  readonly withdrawn: number;
  readonly unknown: number;
  readonly rejections: Rejections;
  /** Why the first of the withdrawn and unknown ones was not confirmed. */
  readonly reason?: string | undefined;
}

/** The JSON of an answer. Only a success of every event has no `error` or `errors`. */
export interface AnswerBody {
  readonly error?: AnswerCode;
  readonly message?: string;
  readonly accepted?: number;
  readonly rejected?: number;
  readonly withdrawn?: number;
  readonly unknown?: number;
  readonly errors?: readonly Rejection[];
  /** How many more events were rejected than `errors` lists. */
  readonly errors_omitted?: number;
}

export interface Answer {
  readonly code: AnswerCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AnswerBody;
  /** What Kafka or its client said: for those who run the gateway, not for those who post. */
  readonly reason?: string | undefined;
}

/** An answer about the post as a whole; `detail` is a sentence that is put behind the table's. */
export function answer(code: AnswerCode, detail?: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return make(code, { error: code, message: messageOf(code, detail) }, headers);
}

/** The answer where the gateway itself failed. */
export function internalFault(fault: unknown): Answer {
  return { ...answer('internal_fault'), reason: fault instanceof Error ? fault.message : String(fault) };
}

/** The answer to a post whose events were read, by what became of them. */
export function answerFor(fates: Fates, detail?: string): Answer {
  const { accepted, withdrawn, unknown, rejections, reason } = fates;
  if (withdrawn + unknown > 0) {
    const code = 'deadline_passed';
    const told = make(code, { error: code, message: messageOf(code), accepted, withdrawn, unknown, ...rejected(rejections) });
    return { ...told, reason };
  }
  if (rejections.count === 0) return make('accepted', { accepted });
  if (accepted > 0) return make('partly_accepted', { accepted, ...rejected(rejections) });
  const code = rejections.tooLarge === rejections.count ? 'events_too_large' : 'no_valid_event';
  return make(code, { error: code, message: messageOf(code, detail), accepted, ...rejected(rejections) });
}

function rejected(rejections: Rejections): Pick<AnswerBody, 'rejected' | 'errors' | 'errors_omitted'> {
  const errors = rejections.listed;
  const omitted = rejections.count - errors.length;
  return { rejected: rejections.count, errors, ...(omitted > 0 ? { errors_omitted: omitted } : {}) };
}

export function messageOf(code: AnswerCode, detail?: string): string {
  return detail === undefined ? ANSWERS[code].message : `${ANSWERS[code].message} ${detail}`;
}

function make(code: AnswerCode, body: AnswerBody, headers: Readonly<Record<string, string>> = {}): Answer {
  const row: AnswerRow = ANSWERS[code];
  const retry = row.retryAfterSeconds === undefined ? {} : { 'retry-after': String(between(row.retryAfterSeconds)) };
  return { code, status: row.status, headers: { ...retry, ...headers }, body };
}

/** Spread, so that clients that were refused together do not come back together. */
function between([from, to]: readonly [number, number]): number {
  return from + Math.floor(Math.random() * (to - from + 1));
}

/** Thrown where a post can not be taken any further; its answer is what the client gets. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly answer: Answer;

  constructor(refused: Answer) {
    super(refused.code);
    this.answer = refused;
  }
}
