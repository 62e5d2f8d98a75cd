import type { PartialKind } from '../measures/partial.ts';
import { type Cell, type Source, sourceKey } from '../messages/message.ts';
import { Pane, type SourceName } from './pane.ts';

/** The panes of one group of one rule version. */
export interface GroupPanes {
  readonly panes: Map<number, Pane>;
  /** Start of the newest pane with events. */
  newestMs: number;
  /** Start of the newest pane that was forgotten: an absence needs to know that there was something. */
  forgottenMs: number;
  /** Panes up to this start may lack what came while the group was not watched: nothing is told from what is missing in them. */
  readonly lostMs: number;
  /** Windows that hold a pane from here on changed since they were last looked at; infinite where none did. */
  changedMs: number;
}

export type Accepted = 'changed' | 'same' | 'sealed' | 'too many groups' | 'foreign';

/** The panes of one rule version: of each group those that a window still reaches. */
export class RulePanes {
  readonly groups = new Map<string, GroupPanes>();
  /** Groups that changed since they were last looked at. */
  readonly changed = new Set<string>();
  readonly #paneMs: number;
  #kind: PartialKind | undefined;
  #sealedMs = Number.NEGATIVE_INFINITY;
  #heldFromMs: number;
  /** Panes that end at or before it are not held again, and those that start at `#rememberedMs` or later only remembered. */
  #passedMs = Number.NEGATIVE_INFINITY;
  #rememberedMs = Number.NEGATIVE_INFINITY;
  /** Start of the newest pane of which anything of a group was given up. */
  #lostMs = Number.NEGATIVE_INFINITY;
  /** Whether it is worth to look for groups that can give way. */
  #canMakeRoom = true;
  /** Groups that never give way: they fire, and what is counted of them ends that. */
  isKept: (group: string) => boolean = () => false;

  constructor(paneMs: number, kind: PartialKind | undefined, heldFromMs: number) {
    this.#paneMs = paneMs;
    this.#kind = kind;
    this.#heldFromMs = heldFromMs;
  }

  /** Panes before it were forgotten, or never taken in: a window that reaches further back, after a rule grew, is not complete. */
  get heldFromMs(): number {
    return this.#heldFromMs;
  }

  /** Panes that end at or before it are sealed. */
  get sealedMs(): number {
    return this.#sealedMs;
  }

  /**
   * Takes a cell in. `maxGroups` bounds a pane, and windows reach over many: twice as many groups are held, and above that those that were seen
   * least recently give way, so that what is busy is always watched. `limitMs`: no event of the cell was appended later, or it is of nobody of ours.
   */
  accept(cell: Cell, maxGroups: number, limitMs: number): Accepted {
    const { group, paneMs, brokerMs, eventMs } = cell;
    // What no lane counts any more: a pane that was not there when it was sealed is empty for good.
    if (paneMs + this.#paneMs <= this.#sealedMs) return 'sealed';
    // Partials of different kinds can not be merged; an event is never later than its broker time, so a pane that is comes from nobody of ours.
    if (cell.partial[0] !== (this.#kind ?? cell.partial[0]) || !this.#isOurs(paneMs, brokerMs, eventMs) || brokerMs > limitMs)
      return 'foreign';
    this.#kind ??= cell.partial[0];
    const passed = paneMs + this.#paneMs <= this.#passedMs;
    if (passed && paneMs < this.#rememberedMs) return 'same';
    let known = this.groups.get(group);
    let full = false;
    if (known === undefined) {
      full = this.groups.size >= 2 * maxGroups;
      if (full) this.#makeRoom(maxGroups);
      if (this.groups.size >= 2 * maxGroups) {
        this.#lostMs = Math.max(this.#lostMs, paneMs);
        return 'too many groups';
      }
      known = {
        lostMs: this.#lostMs,
        panes: new Map(),
        newestMs: Number.NEGATIVE_INFINITY,
        forgottenMs: Number.NEGATIVE_INFINITY,
        changedMs: Number.POSITIVE_INFINITY,
      };
      this.groups.set(group, known);
    }
    if (passed) {
      if (paneMs > known.newestMs) known.newestMs = paneMs;
      if (paneMs > known.forgottenMs) known.forgottenMs = paneMs;
      return 'same';
    }
    let pane = known.panes.get(paneMs);
    if (pane === undefined) {
      pane = new Pane();
      known.panes.set(paneMs, pane);
    }
    if (!pane.accept(nameOf(cell.source), cell)) return 'same';
    if (paneMs > known.newestMs) known.newestMs = paneMs;
    if (paneMs < known.changedMs) known.changedMs = paneMs;
    this.changed.add(group);
    return full ? 'too many groups' : 'changed';
  }

  #makeRoom(maxGroups: number): void {
    if (!this.#canMakeRoom) return;
    const idle = [...this.groups].filter(([group]) => !this.isKept(group)).sort(([, a], [, b]) => a.newestMs - b.newestMs);
    for (const [group, { newestMs }] of idle.slice(0, Math.ceil(maxGroups / 2))) {
      this.groups.delete(group);
      this.changed.delete(group);
      if (newestMs > this.#lostMs) this.#lostMs = newestMs;
    }
    // Looking through all of them for each event would stop everything: again once a pane has passed.
    this.#canMakeRoom = idle.length > 0;
  }

  #isOurs(paneMs: number, brokerMs: number, eventMs: number): boolean {
    return paneMs % this.#paneMs === 0 && paneMs <= brokerMs && eventMs <= brokerMs;
  }

  /** Makes one partial of each pane that ends at or before `untilMs`: every lane has counted it. */
  seal(untilMs: number): void {
    if (untilMs - this.#sealedMs < this.#paneMs) return;
    const sealed = untilMs - (untilMs % this.#paneMs);
    if (sealed <= this.#sealedMs) return;
    for (const { panes } of this.groups.values()) {
      for (const [startMs, pane] of panes) if (startMs + this.#paneMs <= sealed) pane.seal();
    }
    this.#sealedMs = sealed;
  }

  /** Forgets panes that end at or before `beforeMs`, and groups that have none left and no pane since `rememberedMs`. */
  forget(beforeMs: number, rememberedMs: number): void {
    this.#canMakeRoom = true;
    if (beforeMs > this.#heldFromMs) this.#heldFromMs = beforeMs;
    for (const [group, known] of this.groups) {
      for (const startMs of known.panes.keys()) {
        if (startMs + this.#paneMs > beforeMs) continue;
        known.panes.delete(startMs);
        if (startMs > known.forgottenMs) known.forgottenMs = startMs;
      }
      if (known.panes.size === 0 && known.forgottenMs < rememberedMs) {
        this.groups.delete(group);
        this.changed.delete(group);
      }
    }
  }

  /** As if everything had been read before, and `forget` told the same: what is read again, and no window needs any more, takes no memory. */
  passOver(beforeMs: number, rememberedMs: number): void {
    this.#passedMs = beforeMs;
    this.#rememberedMs = rememberedMs;
    if (beforeMs > this.#heldFromMs) this.#heldFromMs = beforeMs;
  }

  /** End of the newest pane that is held. */
  get endMs(): number {
    let newest = Number.NEGATIVE_INFINITY;
    for (const { newestMs } of this.groups.values()) if (newestMs > newest) newest = newestMs;
    return newest + this.#paneMs;
  }

  /** Start of the oldest pane that is held. */
  get oldestMs(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { panes } of this.groups.values()) for (const startMs of panes.keys()) if (startMs < oldest) oldest = startMs;
    return oldest;
  }

  /** Looks at all windows of the group that are not decided yet once more. */
  lookAgain(group: string): void {
    const known = this.groups.get(group);
    if (known === undefined) return;
    known.changedMs = Number.NEGATIVE_INFINITY;
    this.changed.add(group);
  }

  /** Another condition may see in the same panes what the last one did not. */
  allChanged(): void {
    for (const group of this.groups.keys()) this.lookAgain(group);
  }
}

/** As the sources of one record have them. */
const names = new WeakMap<Source, SourceName>();
/** One for each lane that was ever heard of. */
const byName = new Map<string, SourceName>();

function nameOf(source: Source): SourceName {
  const known = names.get(source);
  if (known !== undefined) return known;
  const name = sourceKey(source);
  const one = byName.get(name) ?? { name };
  byName.set(name, one);
  names.set(source, one);
  return one;
}
