import { accessSync, constants } from 'node:fs';
import { z } from 'zod';
import type { Format } from './variable.ts';

export function text(expected = 'text'): Format<string> {
  return z.string().min(1).describe(expected);
}

/** The beginning of object names. */
export function prefix(): Format<string> {
  return z
    .string()
    .regex(/^[0-9A-Za-z._-]+(\/[0-9A-Za-z._-]+)*$/)
    .describe('letters, digits, dots, dashes and underscores, with single slashes between them');
}

/** A name as Kafka takes it for the `group.instance.id` of a member. */
export function instanceId(): Format<string> {
  return z
    .string()
    .regex(/^(?!\.{1,2}$)[0-9A-Za-z._-]{1,249}$/)
    .describe('up to 249 letters, digits, dots, dashes and underscores');
}

/** One of a few words, in upper or lower case; the result is always as listed. */
export function oneOf<const V extends readonly [string, ...string[]]>(values: V): Format<V[number]> {
  const byLowerCase = new Map(values.map((value) => [value.toLowerCase(), value]));
  return z
    .string()
    .transform((given) => byLowerCase.get(given.toLowerCase()) ?? given)
    .pipe(z.enum(values))
    .describe(`one of ${values.join(', ')}`);
}

export function wholeNumber(min: number, max: number, unit = ''): Format<number> {
  return z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .describe(`a whole number${unit === '' ? '' : ` of ${unit}`} from ${min} to ${max}`);
}

/** A span of time. The variable's name must end in `_MS`. */
export function milliseconds(min: number, max: number): Format<number> {
  return wholeNumber(min, max, 'milliseconds');
}

/** A size. The variable's name must end in `_BYTES`. */
export function bytes(min: number, max: number): Format<number> {
  return wholeNumber(min, max, 'bytes');
}

/** A TCP port. 0 takes any free one. */
export function port(): Format<number> {
  return wholeNumber(0, 65_535).describe('a port from 0 to 65535 (0: any free one)');
}

/** An address to listen on. */
export function listenHost(): Format<string> {
  return z
    .string()
    .regex(/^[0-9A-Za-z.:_-]{1,253}$/)
    .describe('a host name or IP address without port');
}

/** A switch in the words that people use for it. */
export function onOff(): Format<boolean> {
  return z
    .string()
    .transform((given) => given.toLowerCase())
    .pipe(z.enum(['1', '0', 'true', 'false']))
    .transform((given) => given === '1' || given === 'true')
    .describe('1 or 0');
}

/** The base of a server's URL. Credentials in it are refused: a URL is logged, and they have variables of their own. */
export function httpUrl(): Format<string> {
  return z
    .url({ protocol: /^https?$/ })
    .refine((given) => {
      // A refinement also runs behind a check that failed: what is no URL at all must not throw here.
      if (!URL.canParse(given)) return false;
      const url = new URL(given);
      return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
    })
    .transform((given) => given.replace(/\/+$/, ''))
    .describe('a URL that starts with http:// or https://, without user name, password or query');
}

const HOST_AND_PORT = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+):(\d{1,5})$/;

function isHostAndPort(server: string): boolean {
  const serverPort = Number(HOST_AND_PORT.exec(server)?.[2]);
  return serverPort >= 1 && serverPort <= 65_535;
}

/** Kafka's own form of a list of servers. */
export function bootstrapServers(): Format<string> {
  return z
    .string()
    .transform((given) => given.split(',').map((server) => server.trim()))
    .pipe(z.array(z.string().refine(isHostAndPort)))
    .transform((servers) => servers.join(','))
    .describe('host:port, several separated by commas');
}

/** The path of a file that this process may read now. */
export function readableFile(): Format<string> {
  return z
    .string()
    .refine((path) => {
      try {
        accessSync(path, constants.R_OK);
        return true;
      } catch {
        return false; // Whatever the reason, the variable's error says that the file can not be read.
      }
    })
    .describe('the path of a file that can be read');
}
