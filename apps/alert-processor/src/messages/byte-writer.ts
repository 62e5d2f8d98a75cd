const FIRST_BYTES = 64 * 1024;
/** More than any number takes in JSON. */
const NUMBER_BYTES = 32;

/**
 * Writes JSON as bytes. Cells are mostly small whole numbers, whose digits are written several times quicker than text is made of them, joined and
 * encoded.
 */
export class ByteWriter {
  private bytes = Buffer.allocUnsafe(FIRST_BYTES);
  length = 0;

  /** Back to an earlier length. */
  cut(length: number): void {
    this.length = length;
  }

  number(n: number): void {
    this.reserve(NUMBER_BYTES);
    if (n >= 0 && n <= 0x3fffffff && (n | 0) === n) this.digits(n);
    // As in JSON: the shortest decimals that are this number; never NaN or infinite.
    else this.ascii(String(n));
  }

  numbers(list: readonly number[]): void {
    this.ascii('[');
    for (let i = 0; i < list.length; i++) {
      if (i > 0) this.ascii(',');
      this.number(list[i] as number);
    }
    this.ascii(']');
  }

  private digits(n: number): void {
    const { bytes } = this;
    let end = this.length + 1;
    for (let rest = n; rest >= 10; rest = (rest / 10) | 0) end++;
    this.length = end;
    let rest = n;
    do {
      const tens = (rest / 10) | 0;
      bytes[--end] = 48 + rest - tens * 10;
      rest = tens;
    } while (rest > 0);
  }

  ascii(text: string): void {
    this.reserve(text.length);
    const { bytes, length } = this;
    for (let i = 0; i < text.length; i++) bytes[length + i] = text.charCodeAt(i);
    this.length = length + text.length;
  }

  utf8(text: string): void {
    this.reserve(text.length * 3);
    this.length += this.bytes.write(text, this.length, 'utf8');
  }

  /** What was written; until more is. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  private reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + more));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}
