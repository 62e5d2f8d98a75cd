import type { Readable } from 'node:stream';
import { answer, Refusal } from '../answers.ts';
import type { Share } from './budget.ts';

/** The client went away before its post was complete: there is nobody to answer, and nothing was kept. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** The refusal of a body that is too large before anything is unpacked. */
export function sentTooLarge(maxBytes: number): Refusal {
  return new Refusal(answer('body_too_large', `As it is sent it may have ${maxBytes} bytes (GATEWAY_MAX_BODY_BYTES).`));
}

/**
 * Reads a body whole. Its bytes are charged as they arrive, not as announced: an announced length costs an attacker nothing.
 * @throws Refusal (413, 429) as soon as it grows over a bound; what still comes is read and dropped, so that the client can
 * read the answer. ClientGone when the connection ends first.
 */
export function readBody(stream: Readable, maxBytes: number, share: Share): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const leave = () => {
      stream.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      stream.on('error', () => undefined); // Once the post has its fate, a connection that breaks is the client's affair.
    };
    const refuse = (refusal: Refusal) => {
      leave();
      stream.resume();
      reject(refusal);
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) refuse(sentTooLarge(maxBytes));
      else if (!share.take(chunk.length)) refuse(new Refusal(answer('too_busy')));
      else chunks.push(chunk);
    };
    const onEnd = () => {
      leave();
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length));
    };
    const onGone = () => {
      leave();
      reject(new ClientGone());
    };
    stream.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}
