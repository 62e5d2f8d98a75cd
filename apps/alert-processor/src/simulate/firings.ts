import type { Told } from './simulation.ts';

/** One alert that would have been. Times in ms. */
export interface Firing {
  /** JSON text. */
  readonly group: string;
  readonly firedMs: number;
  /** Undefined: it was still firing at the end. */
  readonly overMs?: number;
  readonly evidence: string;
}

/** What a rule would have told in a window of time. */
export interface RuleFirings {
  readonly rule: string;
  readonly fired: number;
  /** Those that began under a silence. */
  readonly silenced: number;
  /** Reminders of what goes on. */
  readonly again: number;
  readonly firingAtStart: number;
  readonly firingAtEnd: number;
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  readonly longest: Firing | undefined;
  /** How often on each day in UTC, in their order. */
  readonly days: readonly { readonly day: string; readonly fired: number }[];
  /** How often for each group, the most frequent first; `otherGroups`: firings of groups beyond the bound. */
  readonly groups: readonly { readonly group: string; readonly fired: number }[];
  readonly otherGroups: number;
  /** The first ones; `leftOut`: how many more there were. */
  readonly alerts: readonly Firing[];
  readonly leftOut: number;
}

/** A rule that would have told more than this is wrong, whatever it told. */
const MAX_ALERTS = 1000;
const MAX_GROUPS = 10_000;

interface Open {
  readonly rule: string;
  readonly group: string;
  readonly firedMs: number;
  readonly evidence: string;
  /** Where it stands among the alerts that are listed. */
  readonly at: number | undefined;
}

class Tally {
  fired = 0;
  silenced = 0;
  again = 0;
  firingAtStart = 0;
  otherGroups = 0;
  firstMs: number | undefined;
  lastMs: number | undefined;
  longest: Firing | undefined;
  readonly days = new Map<string, number>();
  readonly groups = new Map<string, number>();
  readonly alerts: Firing[] = [];

  add(firing: Firing): number | undefined {
    const { group, firedMs } = firing;
    this.fired++;
    this.firstMs ??= firedMs;
    this.lastMs = firedMs;
    const day = new Date(firedMs).toISOString().slice(0, 10);
    this.days.set(day, (this.days.get(day) ?? 0) + 1);
    if (this.groups.has(group) || this.groups.size < MAX_GROUPS) this.groups.set(group, (this.groups.get(group) ?? 0) + 1);
    else this.otherGroups++;
    if (this.alerts.length >= MAX_ALERTS) return undefined;
    return this.alerts.push(firing) - 1;
  }

  end(firing: Firing, at: number | undefined, untilMs: number): void {
    if (at !== undefined) this.alerts[at] = firing;
    const lengthOf = ({ firedMs, overMs = untilMs }: Firing) => overMs - firedMs;
    if (this.longest === undefined || lengthOf(firing) > lengthOf(this.longest)) this.longest = firing;
  }
}

/** Sums up what would have been told between two instants, in bounded memory. */
export class Firings {
  private readonly tallies: Map<string, Tally>;
  private readonly open = new Map<string, Open>();
  /** Those that fired before the window and go on: they are not the window's. */
  private readonly before = new Map<string, string>();
  private begun = false;

  constructor(
    rules: readonly string[],
    private readonly fromMs: number,
  ) {
    this.tallies = new Map(rules.map((rule) => [rule, new Tally()]));
  }

  take({ atMs, transition, state }: Told): void {
    const { notification, silencedBy, name } = transition;
    const { incident, status, evidence } = notification;
    const { rule, group } = state;
    const tally = this.tallyOf(rule);
    if (atMs >= this.fromMs) this.begin();
    if (status === 'resolved') {
      const open = this.open.get(incident);
      this.open.delete(incident);
      this.before.delete(incident);
      if (open !== undefined) {
        const { firedMs, at } = open;
        tally.end({ group, firedMs, overMs: atMs, evidence: open.evidence }, at, atMs);
      }
    } else if (name !== 'firing') {
      if (atMs >= this.fromMs) tally.again++;
    } else if (silencedBy !== undefined) {
      if (atMs >= this.fromMs) tally.silenced++;
    } else if (atMs < this.fromMs) this.before.set(incident, rule);
    else {
      const firing: Firing = { group, firedMs: atMs, evidence: evidence.text };
      this.open.set(incident, { rule, group, firedMs: atMs, evidence: evidence.text, at: tally.add(firing) });
    }
  }

  /** The window begins: what fires goes on into it. */
  private begin(): void {
    if (this.begun) return;
    this.begun = true;
    for (const rule of this.before.values()) this.tallyOf(rule).firingAtStart++;
  }

  private tallyOf(rule: string): Tally {
    const known = this.tallies.get(rule);
    if (known !== undefined) return known;
    const tally = new Tally();
    this.tallies.set(rule, tally);
    return tally;
  }

  /** The sums, once all is told; `toMs`: the end of the window. */
  close(toMs: number): readonly RuleFirings[] {
    const atEnd = new Map<string, number>();
    for (const rule of this.before.values()) atEnd.set(rule, (atEnd.get(rule) ?? 0) + 1);
    this.begin();
    for (const { rule, group, firedMs, evidence, at } of this.open.values()) {
      atEnd.set(rule, (atEnd.get(rule) ?? 0) + 1);
      this.tallyOf(rule).end({ group, firedMs, evidence }, at, toMs);
    }
    return [...this.tallies].map(([rule, tally]): RuleFirings => {
      const { fired, silenced, again, firingAtStart, firstMs, lastMs, longest, otherGroups, alerts } = tally;
      return {
        rule,
        fired,
        silenced,
        again,
        firingAtStart,
        firingAtEnd: atEnd.get(rule) ?? 0,
        firstMs,
        lastMs,
        longest,
        days: [...tally.days].map(([day, count]) => ({ day, fired: count })),
        groups: [...tally.groups].map(([group, count]) => ({ group, fired: count })).sort((a, b) => b.fired - a.fired),
        otherGroups,
        alerts,
        leftOut: fired - alerts.length,
      };
    });
  }
}
