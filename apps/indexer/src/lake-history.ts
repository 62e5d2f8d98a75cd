import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HistoryPart, type RecordHistory, systemClock, type TopicPartition } from '@tailrace/kafka-kit';
import type { S3Config } from '@tailrace/service';

/** What still runs in the thread pool may put a file into a folder that is just being removed. */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 } as const;

/** Of the time for a close: what is left is for the closing itself. */
const WAITING_SHARE = 0.8;

/** The lake, opened for its first reading. */
interface OpenLake {
  readonly history: RecordHistory;
  close(): Promise<void>;
}

/**
 * The lake as the history of the stream, opened when something is read of it and closed when nothing is any more: most indexers never need it, and
 * DuckDB and the bucket's client cost memory. Objects lie in a folder of its own under the system's one for temporary files while they are read.
 */
export class LazyLakeHistory implements RecordHistory {
  readonly #open: () => Promise<OpenLake>;
  #opened: Promise<OpenLake> | undefined;
  #readings = 0;
  #isOver = Promise.resolve();
  #over: () => void = () => {};

  constructor(s3: S3Config, open: () => Promise<OpenLake> = () => openLake(s3)) {
    this.#open = open;
  }

  async *read(
    of: TopicPartition & { readonly incarnation: string },
    from: number,
    to: number,
    signal: AbortSignal,
  ): AsyncIterable<HistoryPart> {
    this.#begin();
    try {
      this.#opened ??= this.#open();
      const { history } = await this.#opened;
      yield* history.read(of, from, to, signal);
    } finally {
      this.#readings -= 1;
      if (this.#readings === 0) await this.#close();
    }
  }

  /** Waits until the readings have ended, which are aborted by now, but no longer than it may, and closes what is open. */
  async close(limitMs: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([this.#isOver, systemClock.sleep(limitMs * WAITING_SHARE, timer.signal)]);
    timer.abort();
    await this.#close();
  }

  #begin(): void {
    if (this.#readings === 0)
      this.#isOver = new Promise((resolve) => {
        this.#over = resolve;
      });
    this.#readings += 1;
  }

  async #close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    // Safe to swallow: what could not be opened was told to its reader, and a folder that can not be removed holds only copies.
    await opened?.then((lake) => lake.close()).catch(() => {});
    if (this.#readings === 0) this.#over();
  }
}

async function openLake(s3: S3Config): Promise<OpenLake> {
  const { Database, LakeHistory, Ledger, lakeLayout, S3Store } = await import('@tailrace/lake');
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-restore-'));
  const store = new S3Store(s3);
  const database = await Database.open();
  return {
    history: new LakeHistory({ ledger: new Ledger(store, lakeLayout(s3)), database, folder }),
    async close() {
      database.close();
      store.close();
      await rm(folder, REMOVAL);
    },
  };
}
