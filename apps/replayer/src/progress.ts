import { span } from '@tailrace/lake';
import { SingleBar } from 'cli-progress';
import type { Ports } from './ports.ts';
import { bytesText } from './size.ts';

/** How far something long has come. */
export interface Progress {
  /** What was done so far, and what it waits for, if it does. */
  update(done: Done): void;
  /** A line of text above whatever is drawn. */
  note(sentence: string): void;
  stop(): void;
}

export interface Done {
  readonly offsets: number;
  readonly records: number;
  readonly bytes: number;
}

const LINE_MS = 5000;
/** A rate is of this long a time: what was before says nothing of when it ends. */
const RATE_MS = 10_000;

/** A bar on a terminal, and else a line every five seconds. `total` is in offsets: how many of them hold a wanted record nobody knows before. */
export function progressOn(ports: Pick<Ports, 'terminal' | 'note' | 'nowMs'>, total: number): Progress {
  const { terminal, nowMs } = ports;
  const rates = new Rates(total);
  if (terminal === undefined) {
    let toldMs = nowMs();
    return {
      update(done) {
        const text = rates.text(done, nowMs());
        if (nowMs() - toldMs < LINE_MS) return;
        toldMs = nowMs();
        ports.note(`${done.offsets} of ${total} offsets read, ${text}.\n`);
      },
      note: (sentence) => ports.note(`${sentence}\n`),
      stop: () => {},
    };
  }
  const bar = new SingleBar({ stream: terminal, format: '[{bar}] {percentage}% | {text}', hideCursor: true, clearOnComplete: true });
  bar.start(total, 0, { text: '' });
  return {
    update: (done) => bar.update(done.offsets, { text: rates.text(done, nowMs()) }),
    note(sentence) {
      // The bar draws its line again below it.
      terminal.write(`\r\u001b[K${sentence}\n`);
      bar.render();
    },
    stop: () => bar.stop(),
  };
}

/** Rates of the last seconds, and what they say of the end. */
class Rates {
  readonly #total: number;
  readonly #seen: (Done & { readonly atMs: number })[] = [];

  constructor(total: number) {
    this.#total = total;
  }

  text(done: Done, atMs: number): string {
    this.#seen.push({ ...done, atMs });
    while (this.#seen.length > 2 && atMs - (this.#seen[1]?.atMs ?? atMs) > RATE_MS) this.#seen.shift();
    const [first] = this.#seen;
    const seconds = first === undefined ? 0 : (atMs - first.atMs) / 1000;
    const head = `${done.records} records sent`;
    if (first === undefined || seconds < 0.5) return head;
    const perSecond = (of: (each: Done) => number): number => (of(done) - of(first)) / seconds;
    const offsets = perSecond((each) => each.offsets);
    const left = offsets > 0 ? `, ${span(((this.#total - done.offsets) / offsets) * 1000)} left` : '';
    return `${head}, ${Math.round(perSecond(({ records }) => records))}/s, ${bytesText(perSecond(({ bytes }) => bytes))}/s${left}`;
  }
}
