import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { generateEvents } from '@tailrace/events';
import { type Batch, type Poster, pause } from './poster.ts';

const LINES_PER_POST = 500;
/** A larger body than the gateway takes would be refused as a whole, with its good events. */
const BYTES_PER_POST = 1024 * 1024;
const POSTS_AT_ONCE = 4;
const TICK_MS = 200;
/** Whoever watches for some minutes sees one service fail, the first time after half of this, and the alert about it. */
const BURST_EVERY_SECONDS = 150;
const BURST_SECONDS = 40;

/** Posts a file of NDJSON events once; blank lines are no events. Resolves when every line is answered. */
export async function postFile(file: string, poster: Poster, signal: AbortSignal): Promise<void> {
  // One chunk a read, and its lines as bytes: a line that is no UTF-8 must reach the gateway as it is.
  const lines = createInterface({ input: createReadStream(file, { encoding: 'latin1' }), crlfDelay: Number.POSITIVE_INFINITY });
  await postAll(batched(lines), poster, signal);
}

/** Posts `count` sample events. Resolves when all are answered. */
export async function postSamples(count: number, poster: Poster, signal: AbortSignal): Promise<void> {
  const events = generateEvents({ seed: Date.now(), nowMs: Date.now, bursts: 'none' });
  const batches: Batch[] = [];
  for (let left = count; left > 0; left -= LINES_PER_POST) batches.push(take(events, Math.min(left, LINES_PER_POST)));
  await postAll(batches, poster, signal);
}

/** Posts samples at a rate until the signal aborts. A gateway that is away holds the traffic back instead of piling it up. */
export async function postSteadily(eventsPerSecond: number, poster: Poster, signal: AbortSignal): Promise<void> {
  const bursts = { everyEvents: Math.max(1, eventsPerSecond * BURST_EVERY_SECONDS), events: eventsPerSecond * BURST_SECONDS };
  const events = generateEvents({ seed: Date.now(), nowMs: Date.now, bursts });
  const under = new Set<Promise<void>>();
  let owed = 0;
  let lastMs = Date.now();
  while (!signal.aborted) {
    const nowMs = Date.now();
    // After a pause the traffic goes on at its rate; what was not posted meanwhile is not made up for.
    owed = Math.min(owed + ((nowMs - lastMs) * eventsPerSecond) / 1000, Math.max(eventsPerSecond, 1));
    lastMs = nowMs;
    while (owed >= 1 && under.size < POSTS_AT_ONCE) {
      const count = Math.min(Math.floor(owed), LINES_PER_POST);
      owed -= count;
      const post: Promise<void> = poster.post(take(events, count)).finally(() => under.delete(post));
      under.add(post);
    }
    await pause(TICK_MS, signal);
  }
  await Promise.all(under);
}

async function postAll(batches: Iterable<Batch> | AsyncIterable<Batch>, poster: Poster, signal: AbortSignal): Promise<void> {
  const under = new Set<Promise<void>>();
  for await (const batch of batches) {
    if (signal.aborted) break;
    while (under.size >= POSTS_AT_ONCE) await Promise.race(under);
    const post: Promise<void> = poster.post(batch).finally(() => under.delete(post));
    under.add(post);
  }
  await Promise.all(under);
}

async function* batched(lines: AsyncIterable<string>): AsyncIterable<Batch> {
  let batch = { lines: [] as Buffer[], numbers: [] as number[] };
  let bytes = 0;
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    if (batch.lines.length === LINES_PER_POST || (batch.lines.length > 0 && bytes + line.length > BYTES_PER_POST)) {
      yield batch;
      batch = { lines: [], numbers: [] };
      bytes = 0;
    }
    batch.lines.push(Buffer.from(line, 'latin1'));
    batch.numbers.push(number);
    bytes += line.length;
  }
  if (batch.lines.length > 0) yield batch;
}

function take(events: Iterator<object>, count: number): Batch {
  return { lines: Array.from({ length: count }, () => Buffer.from(JSON.stringify(events.next().value))), numbers: [] };
}
