import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

/** The open of a FIFO that nobody writes to would wait for ever. */
export const WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'no permission',
  ELOOP: 'its links go round',
};

/**
 * The text of a file, of which at most one byte more than `maxBytes` is read: a wrong path may name anything. Never waits: the open of a FIFO that nobody
 * writes to, or the read of a terminal, would hold up the whole process. Throws an error whose message says why, in a few words, and keeps `code`.
 */
export function readText(path: string, maxBytes: number): string {
  let file: number | undefined;
  try {
    file = openSync(path, WITHOUT_WAITING);
    mustBeFile(fstatSync(file));
    const buffer = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (;;) {
      const bytes = readSync(file, buffer, length, buffer.length - length, length);
      length += bytes;
      if (bytes === 0 || length === buffer.length) break;
    }
    return textOf(buffer.subarray(0, length));
  } catch (fault) {
    throw Object.assign(new Error(whyUnreadable(fault), { cause: fault }), { code: (fault as NodeJS.ErrnoException).code });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Why a file or folder can not be read, in a few words. */
export function whyUnreadable(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  return REASONS['code' in fault ? String(fault.code) : ''] ?? fault.message;
}

/** Throws why in a few words where it is none. */
export function mustBeFile(found: Stats): void {
  if (found.isDirectory()) throw new Error('it is a folder');
  if (!found.isFile()) throw new Error('it is no regular file');
}

export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error('it is not text in UTF-8');
  return bytes.toString('utf8');
}
