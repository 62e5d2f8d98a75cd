import { promisify } from 'node:util';
import { gunzip, gunzipSync, type ZlibOptions } from 'node:zlib';
import { answer, Refusal } from '../answers.ts';

const gunzipAsync = promisify(gunzip);

/** Up to here unpacking at once is 4 to 15 times cheaper than through the thread pool, and blocks for 2 ms at most. */
const PACKED_AT_ONCE_BYTES = 64 * 1024;
const UNPACKED_AT_ONCE_BYTES = 1024 * 1024;
const MIN_CHUNK_BYTES = 16 * 1024;

export type Coding = 'identity' | 'gzip';

/** The coding that a request names. @throws Refusal (415) for any other one. */
export function codingOf(contentEncoding: string | undefined): Coding {
  switch (contentEncoding?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return 'identity';
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    default:
      throw new Refusal(answer('unsupported_encoding', undefined, ACCEPT));
  }
}

const ACCEPT = { 'accept-encoding': 'gzip' };

/** How packed bodies begin. None of these can begin a JSON text: each has a byte that no text has. */
const MAGICS: readonly { readonly name: string; readonly bytes: readonly number[] }[] = [
  { name: 'gzip', bytes: [0x1f, 0x8b] },
  { name: 'zstd', bytes: [0x28, 0xb5, 0x2f, 0xfd] },
  { name: 'deflate', bytes: [0x78, 0x01] },
  { name: 'deflate', bytes: [0x78, 0x9c] },
  { name: 'deflate', bytes: [0x78, 0xda] },
];

/** Looks whether a body that should be text is still packed. @throws Refusal (415) that says which header or packing is needed. */
export function refusePacked(body: Buffer, unpackedFrom: Coding): void {
  const packed = MAGICS.find(({ bytes }) => bytes.every((byte, i) => body[i] === byte));
  if (packed === undefined) return;
  const hint =
    unpackedFrom === 'gzip'
      ? `Unpacked from gzip it is ${packed.name} once more: pack it once.`
      : packed.name === 'gzip'
        ? 'It is gzip: post it with the header content-encoding: gzip.'
        : `It is ${packed.name}, which is not understood: post it as it is, or packed with gzip and with the header content-encoding: gzip.`;
  throw new Refusal(answer('undeclared_encoding', hint, ACCEPT));
}

/**
 * Unpacks a gzip body of one or more members, up to `maxBytes`.
 * @throws Refusal: 413 when it would be larger, 400 when it is not gzip, is cut off, or has something behind its end.
 */
export async function unpackGzip(packed: Buffer, maxBytes: number): Promise<Buffer> {
  const chunkSize = Math.min(Math.max(packed.length * 8, MIN_CHUNK_BYTES), UNPACKED_AT_ONCE_BYTES);
  if (packed.length <= PACKED_AT_ONCE_BYTES) {
    const limit = Math.min(maxBytes, UNPACKED_AT_ONCE_BYTES);
    try {
      return whole(packed, gunzipSync(packed, options(chunkSize, limit)));
    } catch (fault) {
      if (!isTooLarge(fault) || limit === maxBytes) throw refusalFor(fault, maxBytes);
      // Small as sent, large unpacked: it goes on in the thread pool.
    }
  }
  try {
    return whole(packed, await gunzipAsync(packed, options(chunkSize, maxBytes)));
  } catch (fault) {
    throw refusalFor(fault, maxBytes);
  }
}

const options = (chunkSize: number, maxOutputLength: number): ZlibOptions => ({ chunkSize, maxOutputLength, info: true });

/** Zlib drops what stands behind a zero byte after the last member without a word; here no byte may get lost. */
function whole(packed: Buffer, unpacked: unknown): Buffer {
  // With `info` the result is an object; Node's types do not say so.
  const { buffer, engine } = unpacked as { buffer: Buffer; engine: { bytesWritten: number } };
  if (engine.bytesWritten !== packed.length) throw new Refusal(answer('invalid_gzip'));
  return buffer;
}

function isTooLarge(fault: unknown): boolean {
  return fault instanceof RangeError && (fault as RangeError & { code?: string }).code === 'ERR_BUFFER_TOO_LARGE';
}

function refusalFor(fault: unknown, maxBytes: number): Refusal {
  if (fault instanceof Refusal) return fault;
  if (isTooLarge(fault)) return new Refusal(answer('body_too_large', `Unpacked it may have ${maxBytes} bytes (GATEWAY_MAX_BODY_BYTES).`));
  return new Refusal(answer('invalid_gzip')); // Whatever else zlib finds wrong is in the bytes that it was given.
}
