import { isoTime } from '@tailrace/kafka-kit';
import { printable } from '@tailrace/service';
import type { AlertState, Send, Transition } from '../decide/alert-state.ts';

/** What was refused or given up longer ago is no finding any more: nobody can be told of it, and a channel that was mended must look mended. */
export const FINDING_MS = 86_400_000;

/** What of a transition is still to be sent. */
export function pendingOf({ sends }: Transition): readonly Send[] {
  return sends.filter(({ status }) => status === 'pending');
}

/** Sends of one alert that did not get through. */
export interface Undelivered {
  /** Still to be sent. */
  readonly waiting: number;
  /** Refused or given up within the last day, those of which only the number is kept among them. */
  readonly failed: number;
  /** Of them, how many only the number is kept of: no channel's line has them. */
  readonly unlisted: number;
}

export function undeliveredOf(state: AlertState, nowMs: number): Undelivered {
  const waiting = state.transitions.reduce((sum, transition) => sum + pendingOf(transition).length, 0);
  const failed = state.transitions.reduce((sum, transition) => sum + failedOf(transition, nowMs).length, 0);
  const unlisted = givenUpBefore(state, nowMs);
  return { waiting, failed: failed + unlisted, unlisted };
}

/** Those of which only the number is kept were given up when the latest one of the alert came, at the latest. */
function givenUpBefore({ givenUp = 0, transitions }: AlertState, nowMs: number): number {
  return nowMs - (transitions.at(-1)?.atMs ?? 0) <= FINDING_MS ? givenUp : 0;
}

function failedOf({ sends, atMs }: Transition, nowMs: number): readonly Send[] {
  return sends.filter(
    ({ status, lastAttemptMs = atMs }) => (status === 'refused' || status === 'given-up') && nowMs - lastAttemptMs <= FINDING_MS,
  );
}

interface ChannelTally {
  waiting: number;
  /** When the oldest that waits was decided. */
  oldestMs: number;
  refused: number;
  givenUp: number;
  lastMs: number;
  /** Of the latest try that is written. */
  reason: { readonly atMs: number; readonly text: string } | undefined;
}

/** A line for each channel that was not told of something: how much, since when, and why, once. */
export function channelLines(states: readonly AlertState[], nowMs: number): readonly string[] {
  const tallies = new Map<string, ChannelTally>();
  const of = (channel: string): ChannelTally => {
    const known = tallies.get(channel);
    if (known !== undefined) return known;
    const tally = { waiting: 0, oldestMs: Number.POSITIVE_INFINITY, refused: 0, givenUp: 0, lastMs: 0, reason: undefined };
    tallies.set(channel, tally);
    return tally;
  };
  for (const transition of states.flatMap(({ transitions }) => transitions)) {
    for (const send of pendingOf(transition)) {
      const tally = of(send.channel);
      tally.waiting += 1;
      tally.oldestMs = Math.min(tally.oldestMs, transition.atMs);
      note(tally, send, transition.atMs);
    }
    for (const send of failedOf(transition, nowMs)) {
      const tally = of(send.channel);
      if (send.status === 'refused') tally.refused += 1;
      else tally.givenUp += 1;
      tally.lastMs = Math.max(tally.lastMs, send.lastAttemptMs ?? transition.atMs);
      note(tally, send, transition.atMs);
    }
  }
  return [...tallies].sort(([a], [b]) => (a < b ? -1 : 1)).map(([channel, tally]) => printable(channelLine(channel, tally)));
}

function note(tally: ChannelTally, { reason, lastAttemptMs }: Send, decidedMs: number): void {
  const atMs = lastAttemptMs ?? decidedMs;
  if (reason !== undefined && atMs >= (tally.reason?.atMs ?? 0)) tally.reason = { atMs, text: reason };
}

function channelLine(channel: string, { waiting, oldestMs, refused, givenUp, lastMs, reason }: ChannelTally): string {
  const failed = [...(refused > 0 ? [`${refused} refused`] : []), ...(givenUp > 0 ? [`${givenUp} given up`] : [])];
  const parts = [
    ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? 'waits' : 'wait'}, the oldest since ${isoTime(oldestMs)}`] : []),
    ...(failed.length > 0 ? [`${failed.join(' and ')} in the last day, the last at ${isoTime(lastMs)}`] : []),
  ];
  return `${channel}: ${parts.join('; ')}${reason === undefined ? '' : `, because: ${reason.text}`}`;
}
