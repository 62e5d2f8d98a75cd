import { type Cell, type LaneMark, REFUSED_GROUP } from '../messages/message.ts';

/** Events that are in no pane, since the last time. */
export interface LeftOut {
  readonly late: number;
  /** By rule: of a group that was one too many. */
  readonly refused: ReadonlyMap<string, number>;
}

/** Makes what is new of the cumulative counts in a lane's cells and marks. */
export class LeftOutCounts {
  #late = 0;
  /** By rule and pane. */
  readonly #refused = new Map<string, { readonly paneMs: number; n: number }>();

  since(cells: readonly Cell[], { late, watermarkMs }: LaneMark): LeftOut {
    const refused = new Map<string, number>();
    for (const { group, rule, paneMs, partial } of cells) {
      if (group !== REFUSED_GROUP) continue;
      const key = `${rule.name}/${rule.version}/${paneMs}`;
      const before = this.#refused.get(key)?.n ?? 0;
      this.#refused.set(key, { paneMs, n: partial[1] });
      refused.set(rule.name, (refused.get(rule.name) ?? 0) + partial[1] - before);
    }
    for (const [key, { paneMs }] of this.#refused) if (paneMs < watermarkMs - KEPT_MS) this.#refused.delete(key);
    const lateBefore = this.#late;
    this.#late = late;
    return { late: late - lateBefore, refused };
  }
}

/** Longer than any pane: what is closed does not change any more. */
const KEPT_MS = 3_600_000;
