import type { Evidence, Notification } from '../notify/notification.ts';
import type { AlertState, Send, Transition } from './alert-state.ts';
import { notificationOf, type Subject, type Told } from './subject.ts';

/** Who decides, and when. */
export interface Deciding {
  readonly subject: Subject;
  readonly group: string;
  readonly nowMs: number;
  readonly epoch: number;
  /** The silence that the alert is under now. */
  readonly silencedBy: string | undefined;
}

/** What an alert that fires looks like at the moment: for a notification that no window brings about. */
export interface Present {
  readonly evidence: () => Evidence;
  /** Of a window of now that fires, too; undefined: there is none, and the episode goes on until a whole window is counted that does not. */
  readonly holding: () => Evidence | undefined;
}

/** A window that fires, or that ends the firing. */
export interface Turn {
  readonly startMs: number;
  readonly endMs: number;
  readonly evidence: Evidence;
}

const DAY_MS = 86_400_000;

/** Transitions that a state keeps: those of the present episode and what is still to be sent. */
const MAX_TRANSITIONS = 16;

/** Why a send is given up that the state does not hold any more. */
export const GIVEN_UP = 'too many newer notifications of this alert wait, too';

/** Beyond it the oldest is given up: a channel that is dead for a day must not fill the log. */
const MAX_PENDING_TRANSITIONS = 64;

export function isPending({ sends }: Transition): boolean {
  return sends.some(({ status }) => status === 'pending');
}

/** Whether the transition is of that episode: all of a state's are of one rule and group. */
function isOf({ notification }: Transition, episodeMs: number): boolean {
  return notification.startedMs === episodeMs;
}

function sendsOf(key: string, channels: readonly string[]): Send[] {
  return channels.map((channel) => ({ key, channel, status: 'pending', attempts: 0 }));
}

function transitionOf(
  { subject, group, nowMs, silencedBy }: Deciding,
  told: Omit<Told, 'decidedMs'>,
  channels = subject.channels,
): Transition {
  const notification = notificationOf(subject, group, { ...told, decidedMs: nowMs });
  const common = { name: told.name, atMs: nowMs, notification };
  if (silencedBy !== undefined) return { ...common, silencedBy, sends: [] };
  return { ...common, sends: sendsOf(notification.key, channels) };
}

function pendingOf(transitions: readonly Transition[]): number {
  return transitions.reduce((sum, { sends }) => sum + sends.filter(({ status }) => status === 'pending').length, 0);
}

/** Drops what nobody needs: first what is settled, and of the present episode only what is in the middle. */
function bounded(transitions: readonly Transition[], episodeMs: number): readonly Transition[] {
  const own = (each: Transition) => isOf(each, episodeMs);
  let kept = transitions.filter((each) => own(each) || isPending(each));
  while (kept.length > MAX_TRANSITIONS) {
    const settled = kept.findIndex((each) => !isPending(each) && !(own(each) && each.name === 'firing'));
    if (settled < 0 || settled === kept.length - 1) break;
    kept = kept.toSpliced(settled, 1);
  }
  return kept.slice(-MAX_PENDING_TRANSITIONS);
}

/** The state with transitions that are bounded. What is given up by it is counted: nobody is told of it. */
function withTransitions(state: AlertState, transitions: readonly Transition[]): AlertState {
  const kept = bounded(transitions, state.episodeMs);
  const givenUp = (state.givenUp ?? 0) + pendingOf(transitions) - pendingOf(kept);
  return { ...state, ...(givenUp === 0 ? {} : { givenUp }), transitions: kept };
}

function changed(state: AlertState, { subject, nowMs, epoch }: Deciding): AlertState {
  return withTransitions({ ...state, version: subject.version, writtenMs: nowMs, epoch }, state.transitions);
}

/** An episode begins: people are told, or would be but for a silence. `decidedMs`: as of `AlertState`. */
export function begun(
  before: AlertState | undefined,
  deciding: Deciding,
  { startMs, endMs, evidence }: Turn,
  decidedMs: number,
): AlertState {
  // The window may be longer than it was: its start then is one that told before, and with it the idempotency key.
  const taken = before !== undefined && startMs <= before.episodeMs;
  const episodeMs = taken ? Math.max(before.decidedMs, before.episodeMs + 1) : startMs;
  const firing = transitionOf(deciding, { name: 'firing', status: 'firing', episodeMs, evidence });
  const state: AlertState = {
    kind: 'alert',
    rule: deciding.subject.rule,
    group: deciding.group,
    version: deciding.subject.version,
    state: 'firing',
    episodeMs,
    ...(before === undefined ? {} : { afterMs: before.episodeMs }),
    // Told for as long as the channel is behind.
    ...(before?.givenUp !== undefined && before.transitions.some(isPending) ? { givenUp: before.givenUp } : {}),
    firstEndMs: endMs,
    lastFiringMs: startMs,
    decidedMs,
    writtenMs: deciding.nowMs,
    epoch: deciding.epoch,
    transitions: [...(before?.transitions ?? []), firing],
  };
  return changed(state, deciding);
}

/** The present episode's transition of that name. */
function ownTransition(state: AlertState, name: string): Transition | undefined {
  return state.transitions.find((each) => each.name === name && isOf(each, state.episodeMs));
}

function toldBefore(state: AlertState): { before?: Notification } {
  const last = state.transitions.findLast((each) => isOf(each, state.episodeMs) && each.silencedBy === undefined);
  return last === undefined ? {} : { before: last.notification };
}

/** Whether the firing was told to nobody, since a silence held. */
function isUntold(state: AlertState): boolean {
  return ownTransition(state, 'firing')?.silencedBy !== undefined;
}

/**
 * The episode ends. Whoever was told of the firing is told of its end, whatever silence holds by now: a page that nobody takes back keeps
 * people busy. Whoever was not told of the firing is not told of its end.
 */
export function resolved(state: AlertState, deciding: Deciding, { endMs, evidence }: Turn): AlertState {
  const silencedBy = ownTransition(state, 'firing')?.silencedBy;
  const { episodeMs } = state;
  const last = transitionOf(
    { ...deciding, silencedBy },
    { name: 'resolved', status: 'resolved', episodeMs, evidence, ...toldBefore(state) },
  );
  const { earlierMs: _, ...rest } = state;
  return changed(
    { ...rest, state: 'ok', decidedMs: Math.max(endMs, state.decidedMs), transitions: [...state.transitions, last] },
    deciding,
  );
}

/**
 * What fires is decided about no more: its rule is gone, or groups by something else. Whoever was told of the firing is told that it is over, and
 * why: nothing else could end it at the receiver. Should the rule come back, the windows that fired are not told again, nor any that end up to
 * `heardMs`.
 */
export function abandoned(
  state: AlertState,
  { nowMs, epoch }: Pick<Deciding, 'nowMs' | 'epoch'>,
  why: string,
  heardMs: number,
): AlertState {
  const { earlierMs: _, ...rest } = state;
  const lastEndMs = state.lastFiringMs + (state.firstEndMs - state.episodeMs);
  const decidedMs = Math.max(state.decidedMs, lastEndMs, heardMs);
  const over = { ...rest, state: 'ok', decidedMs, writtenMs: nowMs, epoch } as const;
  const last = state.transitions.findLast((each) => isOf(each, state.episodeMs));
  if (last === undefined) return over;
  const { notification, silencedBy, sends } = last;
  const key = `${notification.incident}/resolved`;
  const evidence = { ...notification.evidence, text: why, value: null, events: 0, missing: [], brokerMs: null, eventMs: null };
  const told: Transition = {
    name: 'resolved',
    atMs: nowMs,
    notification: { ...notification, key, status: 'resolved', decidedMs: nowMs, evidence },
    ...(silencedBy === undefined ? {} : { silencedBy }),
    sends: sendsOf(
      key,
      sends.map(({ channel }) => channel),
    ),
  };
  return withTransitions(over, [...state.transitions, told]);
}

/** A firing stretch before the episode that was told early is found, and may still touch it. */
export function earlierFound(state: AlertState, deciding: Deciding, startMs: number, endMs: number): AlertState {
  return changed({ ...state, earlierMs: startMs, decidedMs: endMs }, deciding);
}

/** The stretch that was found before the episode ended before it: an incident of its own, over before it could be told. */
export function earlierTold(state: AlertState, deciding: Deciding, firing: Evidence, { endMs, evidence }: Turn): AlertState {
  const { earlierMs, ...rest } = state;
  if (earlierMs === undefined) return state;
  // Where an edit of the window made the start one that told already, a time that is none: windows begin and end with panes, and none ends twice.
  const free = earlierMs > (state.afterMs ?? Number.NEGATIVE_INFINITY) && earlierMs < state.episodeMs;
  const episodeMs = free ? earlierMs : endMs - 1;
  const afterMs = Math.max(state.afterMs ?? episodeMs, free ? episodeMs : Number.NEGATIVE_INFINITY);
  const transitions = [
    transitionOf(deciding, { name: 'firing', status: 'firing', episodeMs, evidence: firing }),
    transitionOf(deciding, { name: 'resolved', status: 'resolved', episodeMs, evidence }),
  ];
  return changed({ ...rest, afterMs, decidedMs: endMs, transitions: [...transitions, ...state.transitions] }, deciding);
}

/** The silence is over, and it still fires: now people are told. */
function toldAfterSilence(state: AlertState, deciding: Deciding, evidence: Evidence): AlertState {
  const untold = ownTransition(state, 'firing');
  if (untold === undefined) return state;
  const told = transitionOf(deciding, { name: 'firing', status: 'firing', episodeMs: state.episodeMs, evidence });
  return changed({ ...state, transitions: state.transitions.map((each) => (each === untold ? told : each)) }, deciding);
}

/** The subject's channels that have nothing of the episode to tell: one that can not be reached must not keep the others from being told again. */
function freeChannels({ transitions, episodeMs }: AlertState, { channels }: Subject): readonly string[] {
  const waiting = transitions
    .filter((each) => isOf(each, episodeMs))
    .flatMap(({ sends }) => sends.filter(({ status }) => status === 'pending').map(({ channel }) => channel));
  return channels.filter((channel) => !waiting.includes(channel));
}

/** It still fires, and the time to say so again has come, for each channel that the last word got through to. Undefined: there is nothing to say. */
function toldAgain(state: AlertState, deciding: Deciding, evidence: () => Evidence): AlertState | undefined {
  const { renotifyMs } = deciding.subject;
  if (renotifyMs === undefined || state.state !== 'firing' || deciding.silencedBy !== undefined) return undefined;
  const last = state.transitions.findLast((each) => isOf(each, state.episodeMs));
  if (last === undefined || deciding.nowMs - last.atMs < renotifyMs) return undefined;
  const channels = freeChannels(state, deciding.subject);
  if (channels.length === 0) return undefined;
  const name = `again-${last.name === 'firing' ? 1 : Number(last.name.slice('again-'.length)) + 1}`;
  const told = { name, status: 'firing', episodeMs: state.episodeMs, evidence: evidence(), ...toldBefore(state) } as const;
  return changed({ ...state, transitions: [...state.transitions, transitionOf(deciding, told, channels)] }, deciding);
}

/** What time brings about in an alert that fires; undefined: nothing that is to be written. */
export function wentOn(state: AlertState, deciding: Deciding, { evidence, holding }: Present): AlertState | undefined {
  // Nobody is woken for what nobody was told of and is over but for the proof: should it fire once more before that, it is told then.
  const held = deciding.silencedBy === undefined && isUntold(state) ? holding() : undefined;
  if (held !== undefined) return toldAfterSilence(state, deciding, held);
  const again = toldAgain(state, deciding, evidence);
  if (again !== undefined) return again;
  // Written anew before the log forgets it.
  return deciding.nowMs - state.writtenMs > DAY_MS ? { ...state, writtenMs: deciding.nowMs, epoch: deciding.epoch } : undefined;
}
