import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
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

/** A reason stands in metrics and headers: a parser that made up ever new ones would fill them. */
const REASON = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Loads the module that `INDEXER_PARSER` names. Throws ConfigError in one sentence where there is none, or none that parses. */
export async function loadParser(path: string): Promise<Parser> {
  const file = resolve(path);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw new ConfigError([
      `INDEXER_PARSER: the module ${file} can not be loaded (${reasonsOf(cause)}): name an ES module that exports parse().`,
    ]);
  }
  const { parse } = module;
  if (typeof parse !== 'function') throw new ConfigError([`INDEXER_PARSER: the module ${file} exports no function named parse.`]);
  return parse as Parser;
}

/**
 * Asks the parser. What it throws is about this record, and makes it dead; an answer that is none of the three is the parser's own fault, whatever the
 * record: throws StandsStill.
 */
export function parsed(parser: Parser, record: ParserInput): ParsedRecord {
  let answer: unknown;
  try {
    answer = parser(record);
  } catch (fault) {
    // Safe: the record is kept as a dead letter, with what the parser said.
    return { kind: 'dead', reason: 'parser-threw', detail: reasonsOf(fault) };
  }
  const read = readAnswer(answer);
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

/** An answer in a few words. */
function shown(answer: unknown): string {
  const text = answer instanceof Promise ? 'a promise' : (JSON.stringify(answer) ?? String(answer));
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
