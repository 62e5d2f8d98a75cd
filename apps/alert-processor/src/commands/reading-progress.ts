import { SingleBar } from 'cli-progress';
import type { Ports } from './ports.ts';

/** How far a long reading has come. */
export interface ReadingProgress {
  add(offsets: number): void;
  stop(): void;
}

const LINE_MS = 5000;

/** A bar on a terminal, and else a line every five seconds. */
export function readingProgress({ terminal, note, nowMs }: Pick<Ports, 'terminal' | 'note' | 'nowMs'>, total: number): ReadingProgress {
  let done = 0;
  if (terminal === undefined) {
    let toldMs = nowMs();
    return {
      add(offsets) {
        done += offsets;
        if (nowMs() - toldMs < LINE_MS) return;
        toldMs = nowMs();
        note(`${done} of ${total} offsets read.\n`);
      },
      stop: () => {},
    };
  }
  const bar = new SingleBar({
    stream: terminal,
    format: '[{bar}] {percentage}% | {value} of {total} offsets | {eta_formatted} left',
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(total, 0);
  return {
    add(offsets) {
      done += offsets;
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
}
