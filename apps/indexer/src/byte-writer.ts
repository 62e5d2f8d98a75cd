const LF = 10;
const CR = 13;
const SPACE = 32;

/**
 * A growing buffer of bytes. Bytes are moved by the engine's own `set`: on the hot path a call into Node's native code costs more
 * than the piece.
 */
export class ByteWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(capacityBytes: number) {
    this.#buffer = Buffer.allocUnsafeSlow(capacityBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** Everything written so far: the writer's own memory, good until the next write. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Appends text that holds nothing but ASCII. */
  ascii(text: string): void {
    this.#reserve(text.length);
    this.#length += this.#buffer.write(text, this.#length, 'latin1');
  }

  /** Appends text in UTF-8. */
  text(text: string): void {
    this.#reserve(3 * text.length);
    this.#length += this.#buffer.write(text, this.#length, 'utf8');
  }

  /** Appends all of `source`. */
  copy(source: Uint8Array): void {
    this.#reserve(source.length);
    this.#buffer.set(source, this.#length);
    this.#length += source.length;
  }

  /** Appends `source[start, end)`. */
  copyRange(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    source.copy(this.#buffer, this.#length, start, end);
    this.#length += end - start;
  }

  /** Appends one byte. */
  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
  }

  /** Puts one byte in place of the one at `at`. */
  overwriteByte(at: number, byte: number): void {
    this.#buffer[at] = byte;
  }

  /** Makes spaces of the line ends from `start` on: in valid JSON they stand only between tokens, and in a bulk they would end the item. */
  blankLineEnds(start: number): void {
    for (let i = start; i < this.#length; i++) if (this.#buffer[i] === LF || this.#buffer[i] === CR) this.#buffer[i] = SPACE;
  }

  /** Forgets what was written behind `length`. */
  rewind(length: number): void {
    this.#length = length;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
