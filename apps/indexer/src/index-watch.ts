import { systemClock } from '@tailrace/kafka-kit';
import type { DailyIndices } from './daily-indices.ts';
import { firstDayKept, indexOfDay } from './index-names.ts';

export interface IndexWatchOptions {
  readonly indexName: string;
  readonly retentionDays: number;
  readonly everyMs: number;
  readonly nowMs: () => number;
  /** Told when a fault appears or becomes another one, and with `undefined` when all is well again. */
  readonly onChange: (fault: string | undefined) => void;
}

export interface IndexWatch {
  stop(): Promise<void>;
}

/**
 * Looks at the indices again and again: what somebody changes in an index of ours no answer to a bulk would show. Resolves behind
 * the first round.
 */
export async function watchIndices(indices: DailyIndices, options: IndexWatchOptions): Promise<IndexWatch> {
  const { indexName, retentionDays, everyMs, nowMs, onChange } = options;
  const stopping = new AbortController();
  let said: string | undefined;
  const round = async () => {
    const now = nowMs();
    await indices.lookAround(indexOfDay(indexName, now), indexOfDay(indexName, firstDayKept(now, retentionDays)), stopping.signal);
    if (indices.fault === said) return;
    said = indices.fault;
    onChange(said);
  };
  const rounds = async () => {
    while (!stopping.signal.aborted) {
      await systemClock.sleep(everyMs, stopping.signal);
      if (!stopping.signal.aborted) await round();
    }
  };
  await round();
  const running = rounds();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
