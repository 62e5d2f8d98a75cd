import { once } from 'node:events';
import { connect } from 'node:net';
import type { Environment } from './config.ts';
import { runningStarter } from './starter.ts';

/** Where an address came from: an endpoints file, or the environment when there is none. */
export type AddressSource = string | undefined;

/** A server that does not answer: failed work, in one sentence that names the address, the setting it came from and what to do. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';

  constructor(server: string, setting: string, address: string, file: AddressSource, cause: unknown) {
    const from = file === undefined ? `${setting} in the environment` : `${setting} in ${file}`;
    const fault = networkFault(cause) ?? 'no answer';
    super(`${server} does not answer at ${address} (${from}; ${fault}): ${wayOut(fault, address, file)}.`, { cause });
  }
}

function wayOut(fault: string, address: string, file: AddressSource): string {
  if (SILENT.test(fault)) {
    return address.includes(',')
      ? 'one of them may be silent, and the others take over from it: try again, and see whether all of them run'
      : 'it may be busy, or hang: try again, and see whether it runs';
  }
  const starter = file === undefined ? undefined : runningStarter(file);
  if (starter !== undefined)
    return `the npm start that wrote the file still runs (process ${starter}), so this server has ended or is started again: try again in a few seconds, and see what npm start says`;
  return file === undefined
    ? 'check that it runs and that the address is right, or name an endpoints file with --endpoints'
    : `if that pipeline has ended, start one with: npm start -- --endpoints ${file}`;
}

/** Of a server that is there and says nothing: nobody knows that it has ended. */
const SILENT = /^(no answer in time|ETIMEDOUT|PLT_KFK_TIMEOUT)$/;
/** What the system, or a client for it, calls an address at which nobody answers. */
const NETWORK_CODES =
  /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|UND_ERR_\w+|PLT_KFK_(NETWORK|TIMEOUT))$/;

/** The code of the network's fault, deepest in the chain of causes first; undefined when it is some other fault. */
export function networkFault(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const inner = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  for (const each of [...inner, 'cause' in error ? error.cause : undefined]) {
    const found = networkFault(each);
    if (found !== undefined) return found;
  }
  if ('name' in error && error.name === 'TimeoutError') return 'no answer in time';
  return 'code' in error && typeof error.code === 'string' && NETWORK_CODES.test(error.code) ? error.code : undefined;
}

const PROBE_TIMEOUT_MS = 5000;

/** Knocks at the S3 server of the environment, before an app explains its silence in a library's words. Throws UnreachableError. */
export async function requireS3(environment: Environment, file: AddressSource): Promise<void> {
  const address = environment.AWS_ENDPOINT_URL_S3;
  // Without it AWS itself is meant; a wrong one is told by the app, with all else that is wrong.
  if (address === undefined || !URL.canParse(address)) return;
  const { protocol, hostname, port } = new URL(address);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  } catch (error) {
    throw new UnreachableError('S3', 'AWS_ENDPOINT_URL_S3', address, file, error);
  } finally {
    socket.destroy();
  }
}
