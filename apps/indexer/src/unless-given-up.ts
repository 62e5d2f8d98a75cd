import { NoAnswer } from './search-client.ts';

/** Waits for work that several writers share, and that goes on for the others. @throws NoAnswer at once when this writer's lane is given up. */
export async function unlessGivenUp<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let stopWaiting = (): void => {};
  const givenUp = new Promise<never>((_, reject) => {
    stopWaiting = () => reject(new NoAnswer('the partition was given up before it could be written to'));
  });
  if (signal.aborted) stopWaiting();
  else signal.addEventListener('abort', stopWaiting, { once: true });
  try {
    return await Promise.race([givenUp, work]);
  } finally {
    signal.removeEventListener('abort', stopWaiting);
  }
}
