import { randomBytes } from 'node:crypto';
import { parseInstant } from '@tailrace/events';
import { TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import type { AlertState } from '../decide/alert-state.ts';
import { MAX_SILENCES } from '../decide/silences.ts';
import type { Silence } from '../messages/message.ts';
import { parseDuration } from '../rules/durations.ts';
import { groupText } from '../rules/group-of.ts';
import type { RuleKnowledge } from './known-rules.ts';

export interface SilenceFlags {
  readonly rule?: string;
  readonly group?: readonly string[];
  readonly for?: string;
  readonly until?: string;
  readonly comment: string;
  readonly json?: boolean;
}

/** alert-state keeps a record for 30 days; a longer silence would end without a word. */
const MAX_SILENCE_MS = 30 * 86_400_000;
const MAX_COMMENT_LENGTH = 500;

/** What can be checked without looking anywhere. @throws ConfigError */
export function checkSilence(flags: SilenceFlags, nowMs: number): void {
  untilMs(flags, nowMs);
  if (flags.comment.trim() === '' || flags.comment.length > MAX_COMMENT_LENGTH)
    throw new ConfigError([`Say why with --comment, in at most ${MAX_COMMENT_LENGTH} characters: people will ask.`]);
  if (flags.group !== undefined && flags.rule === undefined) throw new ConfigError(['A group is one of a rule: name it with --rule.']);
  for (const word of flags.group ?? [])
    if (!/^[^=]+(=|$)/s.test(word)) throw new ConfigError([`--group is NAME=VALUE, and ${word} is not.`]);
}

function untilMs({ for: length, until }: SilenceFlags, nowMs: number): number {
  if ((length === undefined) === (until === undefined)) throw new ConfigError(['Say how long: --for 2h, or --until 2026-03-01T09:00:00Z.']);
  const lengthMs = length === undefined ? undefined : parseDuration(length);
  const atMs = length === undefined ? parseInstant(until ?? '')?.epochMs : lengthMs === undefined ? undefined : nowMs + lengthMs;
  if (atMs === undefined)
    throw new ConfigError([
      length === undefined
        ? `--until is a time with its zone, like 2026-03-01T09:00:00Z, and ${until} is not.`
        : `--for is a length of time like 30m, 2h or 1d, and ${length} is not.`,
    ]);
  if (atMs <= nowMs) throw new ConfigError([`The silence is over before it begins: --until ${until} is past.`]);
  if (atMs - nowMs > MAX_SILENCE_MS)
    throw new ConfigError(['A silence lasts for at most 30 days: a longer one stands in the rules file, under silences.']);
  return atMs;
}

/** The silence that is asked for. `knowledge`: of its rule. @throws ConfigError */
export function silenceOf(flags: SilenceFlags, nowMs: number, knowledge: RuleKnowledge | undefined): Silence {
  const { rule, group, comment } = flags;
  return {
    id: `s-${randomBytes(4).toString('hex')}`,
    ...(rule === undefined ? {} : { rule }),
    ...(group === undefined || rule === undefined ? {} : { group: wholeGroup(rule, group, knowledge) }),
    fromMs: nowMs,
    untilMs: untilMs(flags, nowMs),
    comment,
  };
}

/** Those that fire now and that the silence is over. */
export function matchedBy({ rule, group }: Silence, alerts: readonly AlertState[]): readonly AlertState[] {
  return alerts.filter(
    (alert) => alert.state === 'firing' && (rule === undefined || alert.rule === rule) && (group === undefined || alert.group === group),
  );
}

/**
 * Whether each partition has room for one more: a processor whose silences are at their most takes no other. `held`: what the partitions hold now.
 * @throws ConfigError
 */
export function checkRoom(held: readonly { readonly partition: number; readonly silence: Silence }[]): void {
  const counts = new Map<number, number>();
  for (const { partition } of held) counts.set(partition, (counts.get(partition) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  if (most >= MAX_SILENCES)
    throw new ConfigError([
      `There are ${most} silences, and the processors hold ${MAX_SILENCES} at most, those of the last day that are over among them: silence a whole rule instead of its groups, or put silences into the rules file.`,
    ]);
}

/** A group as rules name it: all its values, in the order of `group_by`. `NAME` without a value is a group without that field. */
function wholeGroup(rule: string, given: readonly string[], knowledge: RuleKnowledge | undefined): string {
  const names = knowledge?.groupBy;
  const values = new Map(given.map((word) => [word.split('=', 1)[0] ?? '', word.includes('=') ? word.slice(word.indexOf('=') + 1) : null]));
  if (names === undefined)
    throw new ConfigError([
      `Nobody here knows what ${rule} groups by, since it has not fired yet: set ALERT_RULES to the rules, or silence the whole rule. ${TAILRACE} alerts ls --all shows what has fired.`,
      ...(knowledge?.unchecked === undefined ? [] : [knowledge.unchecked]),
    ]);
  if (values.size !== given.length || values.size !== names.length || !names.every((name) => values.has(name)))
    throw new ConfigError([`The rule ${rule} groups by ${names.join(', ') || 'nothing'}: name exactly these with --group.`]);
  return JSON.stringify(names.map((name) => groupText(values.get(name))));
}
