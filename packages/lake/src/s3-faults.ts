import { StoreError } from './object-store.ts';

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

/** One sentence for people: which store, what was tried, what came back, and what to do where that is known. */
export function s3Fault(store: string, what: string, error: unknown): StoreError {
  const { name, message, code } = asSdkError(error);
  const status = statusOf(error);
  if (name === 'NoSuchBucket') return new StoreError(`The bucket of ${store} does not exist: make it, or name another.`, error);
  if (status === 401 || status === 403)
    return new StoreError(`${store} refuses to ${what} (${name}): check the access key, its secret and its rights.`, error);
  if (status === undefined) return new StoreError(`${store} can not be reached to ${what}: ${code ?? name}.`, error);
  return new StoreError(`${store} failed to ${what}: ${status} ${name}: ${message}`, error);
}
