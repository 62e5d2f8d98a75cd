import { type DestinationStream, destination, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';

export type { Logger } from 'pino';

/** Properties whose values are never logged, in an object that is logged, or one or two levels inside it. */
const SECRET_PROPERTIES = [
  'password',
  'saslPassword',
  'secretAccessKey',
  'sessionToken',
  'secret',
  'token',
  'authorization',
  'Authorization',
  'cookie',
  '["set-cookie"]',
];
const STRUCK_OUT = '(secret)';
/** Who asks for these wants to see where a fault came from; nobody else is shown a stack. */
const LEVELS_WITH_STACKS = ['trace', 'debug'];
/** A shorter secret is struck out only by its property's name: its letters stand in too many other words. */
const SHORTEST_VALUE_STRUCK_OUT = 8;

export interface LoggerOptions {
  readonly name: string;
  readonly level: string;
  /** Secret values; wherever one occurs in a line (a message, an error's text, a URL) it is struck out. */
  readonly secrets?: readonly string[];
  /** Where the lines go; without it to standard output, each line written before the call returns, so that none is lost at exit. */
  readonly to?: DestinationStream;
}

/**
 * A logger that writes one JSON object per line: `level` as a word, `time` in ISO 8601, `name`, `pid`, `msg` and what was given. A fault
 * stands in `err`, with its causes' messages; its stack only where `level` is debug or trace.
 */
export function createLogger({ name, level, secrets = [], to }: LoggerOptions): Logger {
  // A secret may be escaped in the JSON of the line, and percent-encoded in a URL.
  const values = secrets
    .filter((secret) => secret.length >= SHORTEST_VALUE_STRUCK_OUT)
    .flatMap((secret) => [JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  return pino(
    {
      name,
      level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), bindings: ({ pid, name: bound }) => ({ pid, name: bound }) },
      serializers: { err: (fault: unknown) => (LEVELS_WITH_STACKS.includes(level) ? serialized(fault) : withoutStacks(serialized(fault))) },
      redact: { paths: SECRET_PROPERTIES.flatMap(pathsOf), censor: STRUCK_OUT },
      hooks: { streamWrite: (line) => values.reduce((text, value) => text.replaceAll(value, STRUCK_OUT), line) },
    },
    to ?? destination({ fd: 1, sync: true }),
  );
}

function serialized(fault: unknown): unknown {
  return fault instanceof Error ? stdSerializers.err(fault) : fault;
}

/** Errors of an error (`aggregateErrors`, a client's own properties) are serialized with stacks of their own. */
function withoutStacks(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('stack' in value) || !('message' in value)) return value;
  const { stack: _, ...rest } = value as Record<string, unknown>;
  for (const [name, own] of Object.entries(rest))
    rest[name] = name === 'aggregateErrors' ? (own as []).map(withoutStacks) : withoutStacks(own);
  return rest;
}

function pathsOf(property: string): readonly string[] {
  return property.startsWith('[') ? [property, `*${property}`, `*.*${property}`] : [property, `*.${property}`, `*.*.${property}`];
}
