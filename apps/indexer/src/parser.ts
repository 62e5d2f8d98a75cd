import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { type Headers, reasonsOf, StandsStill } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';

/** A record as a parser gets it: what stood in Kafka, byte for byte. The Buffers are good only for the call. */
export interface ParserInput {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Headers;
}

/** What a record is to be: an event as JSON text; nothing, and why, in a short fixed word; or bad data, which becomes a dead letter. */
export type Parsed =
  | { readonly kind: 'event'; readonly value: Buffer | string }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'dead'; readonly reason: string; readonly detail?: string };

/** Makes an event of a record of a format of somebody's own. Without side effects, and the same for the same record: it is asked again after an outage. */
export type Parser = (record: ParserInput) => Parsed;

/** What a parser's answer means to the sink. */
export type ParsedRecord = { readonly kind: 'event'; readonly value: Buffer | null } | Exclude<Parsed, { readonly kind: 'event' }>;

/** Of an answer in a message. */
const MAX_SHOWN = 100;
/** A module that waits for something while it is loaded would else hold up the start without a word. */
const LOAD_MS = 30_000;

/** A reason stands in metrics and headers: a parser that made up ever new ones would fill them. */
const REASON = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Loads the module that `INDEXER_PARSER` names. Throws ConfigError in one sentence where there is none, or none that parses. */
export async function loadParser(path: string, limitMs = LOAD_MS): Promise<Parser> {
  const file = resolve(path);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await Promise.race([import(pathToFileURL(file).href), tooLate(limitMs)]);
  } catch (cause) {
    throw new ConfigError([
      `INDEXER_PARSER: the module ${file} can not be loaded (${reasonsOf(cause)}): name an ES module that exports parse().`,
    ]);
  }
  const { parse } = module;
  if (typeof parse !== 'function') throw new ConfigError([`INDEXER_PARSER: the module ${file} exports no function named parse.`]);
  return parse as Parser;
}

async function tooLate(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new Error(`it was not loaded within ${ms / 1000} s`);
}

/**
 * Asks the parser. What it throws is about this record, and makes it dead; an answer that is none of the three is the parser's own fault, whatever the
 * record: throws StandsStill.
 */
export function parsed(parser: Parser, { key, value, headers }: ParserInput): ParsedRecord {
  let answer: unknown;
  try {
    // Copies: what a parser writes into them must not be what a dead letter keeps.
    answer = parser({
      key: key && Buffer.from(key),
      value: value && Buffer.from(value),
      headers: headers.map(([name, bytes]) => [name, bytes && Buffer.from(bytes)]),
    });
  } catch (fault) {
    // Safe: the record is kept as a dead letter, with what the parser said.
    return { kind: 'dead', reason: 'parser-threw', detail: reasonsOf(fault) };
  }
  let read: ParsedRecord | undefined;
  try {
    read = readAnswer(answer);
  } catch {
    // Safe: an answer that can not even be looked at (a getter that throws) is none, which is told below.
    read = undefined;
  }
  if (read === undefined)
    throw new StandsStill(
      `The parser of INDEXER_PARSER answered ${shown(answer)}: it must return { kind: 'event', value }, { kind: 'skipped', reason } or { kind: 'dead', reason }, with a reason of a-z, 0-9, . _ and -. Mend it and restart the indexer.`,
    );
  return read;
}

function readAnswer(answer: unknown): ParsedRecord | undefined {
  if (typeof answer !== 'object' || answer === null || !('kind' in answer)) return undefined;
  const { kind, value, reason, detail } = answer as Readonly<Record<string, unknown>>;
  if (kind === 'event') {
    if (typeof value === 'string') return { kind, value: Buffer.from(value) };
    return value instanceof Uint8Array ? { kind, value: Buffer.from(value.buffer, value.byteOffset, value.byteLength) } : undefined;
  }
  if (typeof reason !== 'string' || !REASON.test(reason)) return undefined;
  if (kind === 'skipped') return { kind, reason };
  return kind === 'dead' ? { kind, reason, ...(typeof detail === 'string' ? { detail } : {}) } : undefined;
}

/** An answer in a few words, whatever it is. */
function shown(answer: unknown): string {
  if (answer instanceof Promise) {
    // Nobody waits for it: one that is rejected would end the whole process.
    answer.catch(() => {});
    return 'a promise';
  }
  const text = inspect(answer, {
    depth: 1,
    breakLength: Number.POSITIVE_INFINITY,
    maxStringLength: MAX_SHOWN,
    maxArrayLength: 5,
    getters: false,
  });
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
