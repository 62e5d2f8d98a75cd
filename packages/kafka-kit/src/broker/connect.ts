import { ask, CODES, type kafka } from './native-client.ts';

type NativeClient = Pick<InstanceType<typeof kafka.Producer>, 'connect' | 'getMetadata'>;

/**
 * A call that waits for the cluster runs in a thread that nothing can break off, and the end of the process waits for it too. So the
 * cluster is asked for this long at a time, and a stop is looked for in between.
 */
const SLICE_MS = 500;

/** The cluster is not there (yet): asked again. Everything else is an answer. */
const NOT_THERE: ReadonlySet<number | undefined> = new Set([CODES.timedOut, CODES.transport]);

/** Connects a client within `timeoutMs`, or gives up soon after the signal. Rejects with BrokerError while the cluster can not be reached. */
export async function connectClient(client: NativeClient, timeoutMs: number, signal?: AbortSignal): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs;
  const askOnce = client.getMetadata;
  // The client's own `connect` ends in this call, and disconnects when it fails: in slices of `connect` a slow link would never be up.
  client.getMetadata = (options, done) => {
    const leftMs = Math.max(1, endsAtMs - performance.now());
    askOnce.call(client, { ...options, timeout: Math.ceil(Math.min(SLICE_MS, leftMs)) }, (fault, metadata) => {
      if (fault && NOT_THERE.has(fault.code) && leftMs > SLICE_MS && signal?.aborted !== true) client.getMetadata(options, done);
      else done?.(fault, metadata);
    });
  };
  try {
    await ask((done) => client.connect({}, done));
  } finally {
    client.getMetadata = askOnce;
  }
}
