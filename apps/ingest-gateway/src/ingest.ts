import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Published, Publisher } from '@tailrace/kafka-kit';
import type { ByteBudget, Share } from './admission/budget.ts';
import { ClientGone, readBody, sentTooLarge } from './admission/read-body.ts';
import { codingOf, refusePacked, unpackGzip } from './admission/unpack.ts';
import { type Answer, type AnswerCode, answer, answerFor, type Fates, internalFault, Refusal } from './answers.ts';
import { type BodyFormat, bodyFormatOf } from './intake/body-format.ts';
import { type EventLimits, type Intake, readEvents } from './intake/read-events.ts';
import type { GatewayMetrics } from './metrics.ts';
import type { PostWatch } from './post-watch.ts';

/** A post: its headers, and its body as it arrives. An IncomingMessage is one. */
export type Post = Readable & { readonly headers: IncomingHttpHeaders };

export interface IngestOptions extends EventLimits {
  readonly publisher: Pick<Publisher, 'publish' | 'inFlightBytes' | 'maxInFlightBytes'>;
  readonly budget: ByteBudget;
  readonly maxBodyBytes: number;
  readonly deadlineMs: number;
  readonly metrics: GatewayMetrics;
  readonly watch: PostWatch;
  /** Why no post can be taken now, or undefined. Asked before a body is read, so that nothing of it is kept. */
  closedBecause(): AnswerCode | undefined;
}

/**
 * Takes one post from its body to its answer: read, unpack, find the events, publish the valid ones, wait for their fates. Never
 * throws, and never says `accepted` of a record that Kafka has not acknowledged. Undefined: the client is gone.
 */
export async function ingest(post: Post, options: IngestOptions): Promise<Answer | undefined> {
  const share = options.budget.open();
  try {
    const answered = await take(post, share, options);
    options.metrics.answered(answered);
    options.watch.answered(answered);
    return answered;
  } catch (fault) {
    if (fault instanceof ClientGone) {
      options.metrics.clientGone();
      return undefined;
    }
    const answered = fault instanceof Refusal ? fault.answer : internalFault(fault);
    options.metrics.answered(answered);
    options.watch.answered(answered, fault instanceof Refusal ? undefined : fault);
    return answered;
  } finally {
    share.giveBack();
  }
}

async function take(post: Post, share: Share, options: IngestOptions): Promise<Answer> {
  const format = bodyFormatOf(post.headers['content-type']);
  const body = withoutByteOrderMark(await bodyOf(post, share, options));
  const endsAtMs = performance.now() + options.deadlineMs;
  const intake = await readEvents(body, format, options);
  const fates = await publish(intake, endsAtMs, options);
  options.metrics.read(intake);
  return answerFor(fates, hintFor(format, intake, options));
}

/** The unpacked body; while this post lasts its bytes count against the budget. */
async function bodyOf(post: Post, share: Share, { budget, maxBodyBytes, metrics, closedBecause }: IngestOptions): Promise<Buffer> {
  const coding = codingOf(post.headers['content-encoding']);
  const closed = closedBecause();
  if (closed !== undefined) throw new Refusal(answer(closed));
  const announcedBytes = Number(post.headers['content-length'] ?? 0);
  if (announcedBytes > maxBodyBytes) throw sentTooLarge(maxBodyBytes);
  if (!budget.hasRoomFor(announcedBytes)) throw new Refusal(answer('too_busy'));
  const sent = await readBody(post, maxBodyBytes, share);
  metrics.received(sent.length);
  if (sent.length === 0) throw new Refusal(answer('empty_body'));
  if (coding === 'identity') {
    refusePacked(sent, coding);
    return sent;
  }
  const unpacked = await unpackGzip(sent, maxBodyBytes);
  refusePacked(unpacked, coding);
  if (!share.take(unpacked.length)) throw new Refusal(answer('too_busy'));
  return unpacked;
}

/** Some editors and shells put one before text in UTF-8; it is no part of the first event. */
function withoutByteOrderMark(body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

/** Publishes the valid events and counts what became of each; those that Kafka refuses join the rejected ones. */
async function publish({ records, lines, bytes, canaries, rejections }: Intake, endsAtMs: number, options: IngestOptions): Promise<Fates> {
  if (records.length === 0) return { accepted: 0, withdrawn: 0, unknown: 0, rejections };
  const { publisher, metrics } = options;
  // With nothing in flight even the largest post goes through: refused for ever it would never get in.
  if (publisher.inFlightBytes > 0 && publisher.inFlightBytes + bytes > publisher.maxInFlightBytes) throw new Refusal(answer('too_busy'));
  const begunMs = performance.now();
  const published = await publisher.publish(records, { deadlineMs: Math.max(0, Math.floor(endsAtMs - begunMs)) });
  metrics.acknowledged((performance.now() - begunMs) / 1000);
  if (published.length !== records.length) throw new Error(`the publisher told ${published.length} fates of ${records.length} records`);
  const counts: Record<Published['kind'], number> = { acknowledged: 0, withdrawn: 0, unknown: 0, refused: 0 };
  let reason: string | undefined;
  for (const [i, fate] of published.entries()) {
    counts[fate.kind]++;
    if (fate.kind === 'withdrawn' || fate.kind === 'unknown') reason ??= fate.reason;
    if (fate.kind === 'refused') rejections.addRefused(lines[i] ?? 0, fate.reason);
  }
  metrics.canaries(canaries.filter((i) => published[i]?.kind === 'acknowledged').length);
  return { accepted: counts.acknowledged, withdrawn: counts.withdrawn, unknown: counts.unknown, rejections, reason };
}

/** What to do about a post of which nothing was kept: the limit that was met, or the format that the body was not in. */
function hintFor(format: BodyFormat, { rejections, layout }: Intake, { maxEventBytes }: IngestOptions): string | undefined {
  if (rejections.tooLarge === rejections.count) return `An event may have ${maxEventBytes} bytes (GATEWAY_MAX_EVENT_BYTES).`;
  if (rejections.unreadable === 0) return undefined;
  if (layout !== 'lines') {
    if (format === 'json') return 'Post one event per line as application/x-ndjson.';
    return layout === 'array' ? 'It begins with "[", so it was read as one JSON array of events.' : undefined;
  }
  switch (format) {
    case 'form':
      return 'One event stands on one line; with curl use --data-binary, because -d takes the line ends away.';
    case 'ndjson':
      return 'One event stands on one line; post a JSON array as application/json.';
    default:
      return 'One event stands on one line, or the body is one JSON array or object.';
  }
}
