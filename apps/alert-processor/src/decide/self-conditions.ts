import type { Evidence } from '../notify/notification.ts';
import type { Rule, RuleText } from '../rules/rule.ts';
import type { AlertState } from './alert-state.ts';
import { begun, type Deciding, resolved } from './episodes.ts';
import type { StateStore } from './state-store.ts';
import { groupValues, type Subject } from './subject.ts';

/** Something about tailrace itself that holds or does not: told, silenced, repeated and resolved as the alerts of rules are. */
export interface SelfCondition {
  /** Begins with `tailrace.`: no rule of a user can be named so. */
  readonly rule: string;
  /** JSON text of an array, as of a rule's groups; `groupBy` names its members. */
  readonly group: string;
  readonly groupBy: readonly string[];
  readonly holds: boolean;
  readonly text: RuleText;
  readonly evidence: {
    readonly text: string;
    readonly value: number | null;
    readonly threshold: number;
    readonly missing?: readonly string[];
  };
  readonly renotifyMs?: number;
}

const PREFIX = 'tailrace.';

/** A rule has more groups than are counted: what the others do, nobody watches. */
export const GROUPS_RULE = `${PREFIX}groups`;

/** Conditions of one kind at a time. */
const MAX_CONDITIONS = 1000;

interface Held {
  readonly subject: Subject;
  readonly evidence: Evidence;
}

/** The alerts about tailrace itself in one partition. */
export class SelfConditions {
  readonly #states: StateStore;
  readonly #channels: readonly string[];
  readonly #held = new Map<string, Held>();

  constructor(states: StateStore, channels: readonly string[]) {
    this.#states = states;
    this.#channels = channels;
  }

  owns(rule: string): boolean {
    return rule.startsWith(PREFIX);
  }

  /** The rule that the alert is about: without it nothing says any more whether it holds. */
  ruleOf(rule: string, group: string): string | undefined {
    return rule === GROUPS_RULE ? (groupValues(group)[0] ?? undefined) : undefined;
  }

  /** Nothing says any more whether it holds. */
  drop(rule: string, group: string): void {
    this.#held.delete(JSON.stringify([rule, group]));
  }

  set(condition: SelfCondition, when: Omit<Deciding, 'subject'>): void {
    if (!this.owns(condition.rule)) throw new RangeError(`A condition of tailrace itself is named ${PREFIX}..., not ${condition.rule}.`);
    const { rule, group, groupBy, text, renotifyMs, holds } = condition;
    const subject = {
      rule,
      version: 'built-in',
      groupBy,
      text,
      channels: this.#channels,
      ...(renotifyMs === undefined ? {} : { renotifyMs }),
    };
    const evidence = evidenceAt(condition, when.nowMs);
    const deciding = { ...when, subject };
    const key = JSON.stringify([rule, group]);
    const state = this.#states.get(rule, group);
    const turn = { startMs: when.nowMs, endMs: when.nowMs, evidence };
    if (holds) {
      if (!this.#held.has(key) && this.#held.size >= MAX_CONDITIONS) return;
      this.#held.set(key, { subject, evidence });
      if (state?.state !== 'firing') this.#states.write(begun(state, deciding, turn, when.nowMs));
    } else {
      this.#held.delete(key);
      if (state?.state === 'firing') this.#states.write(resolved(state, deciding, turn));
    }
  }

  /** Those that hold, as they were told of last. One that only the log knows says nothing until it is told of again. */
  firing(): { state: AlertState; subject: Subject; evidence: Evidence }[] {
    return [...this.#held.values()].flatMap(({ subject, evidence }) =>
      this.#states.firing(subject.rule).flatMap((state) => {
        const held = this.#held.get(JSON.stringify([state.rule, state.group]));
        return held?.subject === subject ? [{ state, subject, evidence }] : [];
      }),
    );
  }
}

function evidenceAt({ evidence }: SelfCondition, nowMs: number): Evidence {
  return {
    text: evidence.text,
    value: evidence.value,
    threshold: evidence.threshold,
    events: 0,
    windowStartMs: nowMs,
    windowEndMs: nowMs,
    completeUpToMs: null,
    missing: evidence.missing ?? [],
    brokerMs: null,
    eventMs: null,
  };
}

/** The alert about a rule whose groups exploded. */
export function groupsCondition(rule: Rule, holds: boolean): SelfCondition {
  return {
    rule: GROUPS_RULE,
    group: JSON.stringify([rule.name]),
    groupBy: ['rule'],
    holds,
    text: {
      severity: 'error',
      summary: 'Rule {rule} has more groups than are counted: the others are not watched',
      labels: {},
      response: {
        do: `Look at what ${rule.groupBy.join(', ')} hold now, and group rule ${rule.name} by something that has fewer values.`,
        doNot: 'Do not take silence about the other groups for their health.',
      },
    },
    evidence: {
      text: holds ? `more than ${rule.maxGroups} groups` : `at most ${rule.maxGroups} groups for 10 min`,
      value: null,
      threshold: rule.maxGroups,
    },
  };
}
