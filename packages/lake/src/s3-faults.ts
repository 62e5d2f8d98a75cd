import { StoreError } from './object-store.ts';

/** A connection that does not stand by then is given up. */
export const CONNECT_MS = 3_000;

/** What the SDK throws, as far as it is looked at here. */
interface SdkError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function asSdkError(error: unknown): SdkError {
  return error instanceof Error ? (error as SdkError) : { name: 'Error', message: String(error) };
}

/** The HTTP status of an answer, or undefined when there was none. */
export function statusOf(error: unknown): number | undefined {
  return asSdkError(error).$metadata?.httpStatusCode;
}

/** Whether bytes came that do not fit the checksum which the store keeps of the object. The SDK has no name of its own for it. */
export function isChecksumMismatch(error: unknown): boolean {
  return asSdkError(error).message.startsWith('Checksum mismatch');
}

/** We gave up waiting after `limitMs`. */
export function noAnswer(store: string, what: string, limitMs: number, error: unknown): StoreError {
  return new StoreError(`${store} gave no answer within ${limitMs / 1000} s to ${what}.`, error);
}

/**
 * One sentence for people: which store, what was tried, what came back, and what to do where that is known. `limitMs`: after which we gave
 * up waiting ourselves.
 */
export function s3Fault(store: string, what: string, error: unknown, limitMs: number): StoreError {
  const { name, message, code } = asSdkError(error);
  const status = statusOf(error);
  if (name === 'NoSuchBucket') return new StoreError(`The bucket of ${store} does not exist: make it, or name another.`, error);
  if (status === 401 || status === 403)
    return new StoreError(`${store} refuses to ${what} (${name}): check the access key, its secret and its rights.`, error);
  // Nobody but us aborts a request.
  if (name === 'AbortError') return noAnswer(store, what, limitMs, error);
  if (name === 'TimeoutError')
    return new StoreError(`${store} can not be reached to ${what}: no connection within ${CONNECT_MS / 1000} s.`, error);
  if (name === 'CredentialsProviderError')
    return new StoreError(
      `There are no credentials for ${store} to ${what}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (${message}).`,
      error,
    );
  if (status === undefined) return new StoreError(`${store} can not be reached to ${what}: ${code ?? `${name}: ${message}`}.`, error);
  return new StoreError(`${store} failed to ${what}: ${status} ${name}: ${message}`, error);
}
