import { TAILRACE } from '@tailrace/kafka-kit';
import { chainText } from '@tailrace/lake';
import type { Check } from '@tailrace/service';
import type { ArchiveEvent } from './archive-events.ts';

/**
 * What this process has seen to be lost. Archiving goes on at once, since standing still would only lose more, and nothing that comes
 * later mends it: so it is said in `/readyz` for as long as the process lives.
 */
export class Losses {
  #count = 0;
  #last: string | undefined;

  observe(event: ArchiveEvent): void {
    const what = lossOf(event);
    if (what === undefined) return;
    this.#count++;
    this.#last = `${what} (${chainText(event.chain)})`;
  }

  check(): Check {
    if (this.#last === undefined) return { state: 'ok', sentence: 'Nothing was seen to be lost since the start.' };
    const more = this.#count === 1 ? '' : `, after ${this.#count - 1} other ${this.#count === 2 ? 'loss' : 'losses'}`;
    return {
      state: 'degraded',
      sentence: `RECORDS ARE LOST since the start: ${this.#last}${more}. The archive goes on; \`${TAILRACE} lake audit\` lists every loss, and a restart takes this line away.`,
    };
  }
}

function lossOf(event: ArchiveEvent): string | undefined {
  switch (event.kind) {
    case 'loss-declared':
      return `offsets ${event.first} to ${event.next - 1} were gone from Kafka before they were archived`;
    case 'topic-made-anew':
      return `the topic was made anew, and what it held behind offset ${event.end} is gone, with ${event.cutRows} rows that were cut off`;
    case 'claim-checked': {
      const { first, next, repair } = event;
      if (repair.kind === 'lost') return `offsets ${first} to ${next - 1} were claimed and never written`;
      if (repair.kind === 'rest') return `offsets ${first} to ${repair.from - 1} were claimed and never written`;
      if (repair.kind === 'changed') return `Kafka holds other records at offsets ${first} to ${next - 1} than were claimed`;
      return undefined;
    }
    default:
      return undefined;
  }
}
