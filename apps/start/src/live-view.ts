import type { PostCounts } from './poster.ts';
import type { Progress } from './progress.ts';

export interface ViewState {
  readonly upSeconds: number;
  /** The folder that keeps the data; undefined where nothing is kept. */
  readonly dataFolder: string | undefined;
  readonly posted: PostCounts;
  readonly progress: Progress | undefined;
  readonly acceptedPerSecond: number;
  readonly urls: Readonly<Record<string, string | undefined>>;
}

const NUMBER = new Intl.NumberFormat('en-US');

/** The live view as lines. */
export function renderView({ upSeconds, dataFolder, posted, progress, acceptedPerSecond, urls }: ViewState): string[] {
  const lag = [...(progress?.lag ?? [])].map(([group, records]) => `${group} ${shown(records)}`).join(' · ');
  const lines = [
    `tailrace  up ${duration(upSeconds)}   ${dataFolder === undefined ? 'Ctrl-C stops and removes everything' : `Ctrl-C stops everything; the data stay in ${dataFolder}`}`,
    '',
    `  accepted   ${shown(posted.accepted).padStart(12)}   ${NUMBER.format(Math.round(acceptedPerSecond))} a second${rejected(posted)}`,
    `  indexed    ${shown(progress?.indexed).padStart(12)}   in OpenSearch`,
    `  archived   ${shown(progress?.archived).padStart(12)}   in Parquet on S3`,
    `  lag        ${lag === '' ? 'no answer'.padStart(12) : `  ${lag} (records)`}`,
    '',
    ...Object.entries(urls).map(([name, url]) => `  ${name.padEnd(11)}${url ?? 'starting'}`),
  ];
  if (posted.repeatedPosts > 0) {
    lines.push(
      '',
      `  ${NUMBER.format(posted.repeatedPosts)} posts were repeated; ${NUMBER.format(posted.maybeTwice)} events of them may be kept twice`,
    );
  }
  return lines;
}

/** One line for a log or a pipe, where nothing can be drawn over. */
export function renderLine({ upSeconds, posted, progress }: ViewState): string {
  const lag = [...(progress?.lag ?? [])].map(([group, records]) => `${group} ${shown(records)}`).join(', ');
  return `${duration(upSeconds)}  accepted ${shown(posted.accepted)}, indexed ${shown(progress?.indexed)}, archived ${shown(progress?.archived)}, lag: ${lag}`;
}

/** Draws over its own last picture; other lines go above it. */
export class Screen {
  readonly #write: (text: string) => void;
  #drawn = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  draw(lines: readonly string[]): void {
    this.#write(`${this.#erase()}${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  print(line: string): void {
    this.#write(`${this.#erase()}${line}\n`);
    this.#drawn = 0;
  }

  #erase(): string {
    return this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A\u001b[J`;
  }
}

function shown(count: number | undefined): string {
  return count === undefined ? 'no answer' : NUMBER.format(count);
}

function rejected({ rejected: count }: PostCounts): string {
  return count === 0 ? '' : `, ${NUMBER.format(count)} rejected`;
}

function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes === 0 ? `${whole} s` : `${minutes} min ${whole % 60} s`;
}
