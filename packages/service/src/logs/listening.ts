import type { Logger } from './logger.ts';

/** Says in one line where a server of this process is reached: `listening` names the server, `url` is its address. */
export function logListening(log: Logger, server: string, url: string): void {
  log.info({ listening: server, url }, `${server} listens on ${url}`);
}

/** Reads a log line back: the server and its URL when it is one that `logListening` wrote, else undefined. */
export function readListening(line: string): { readonly server: string; readonly url: string } | undefined {
  if (!line.includes('"listening"')) return undefined;
  try {
    const { listening, url } = JSON.parse(line);
    return typeof listening === 'string' && typeof url === 'string' ? { server: listening, url } : undefined;
  } catch {
    return undefined; // Not one of our lines: whatever else the process prints is nobody's address.
  }
}

/** The URL of a server that listens on `host` and `port`. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The error of a server that could not listen, as a sentence that names the variables to change. */
export function listenFault(fault: Error & { code?: string }, host: string, port: number, variables: string): Error {
  const why =
    fault.code === 'EADDRINUSE'
      ? 'the port is taken by another process'
      : fault.code === 'EADDRNOTAVAIL' || fault.code === 'ENOTFOUND'
        ? 'this machine does not have that address'
        : fault.code === 'EACCES'
          ? 'this user may not take that port'
          : fault.message;
  return new Error(`Can not listen on ${host}:${port}: ${why}. Set ${variables} to another one.`, { cause: fault });
}
