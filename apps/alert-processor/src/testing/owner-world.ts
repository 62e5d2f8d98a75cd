import type { Random } from '@tailrace/kafka-kit/testing';
import type { AlertState, StateRecord } from '../decide/alert-state.ts';
import { Decider } from '../decide/decider.ts';
import { pendingSends } from '../decide/state-store.ts';
import { incidentKey } from '../decide/subject.ts';
import type { Notification } from '../notify/notification.ts';
import { PANE_MS } from './plain-rules.ts';
import type { StreamWorld } from './stream-world.ts';

const SLACK_MS = 300_000;
const CHANNEL = 'oncall';

/** A rule of the deciding stage, broken. */
export interface WrongOwner {
  readonly rewinds?: boolean;
  readonly restores?: boolean;
  readonly writesPending?: boolean;
}

/** Raised where the process is killed: nothing of it goes on. */
class Killed extends Error {}

/** The owner of one partition of `alert-partials`, its commits and `alert-state`, and the receiver at the other end. Killed and started over and over. */
export class OwnerWorld {
  /** By idempotency key, what the receiver was told, every time. */
  readonly told = new Map<string, Notification[]>();
  readonly states: StateRecord[] = [];
  kills = 0;
  #killing: number;
  #committed = 0;
  #position = 0;
  #decider: Decider;
  #zombie: Decider | undefined;
  #zombieAt = 0;

  constructor(
    readonly world: StreamWorld,
    readonly random: Random,
    killing: number,
    readonly wrong: WrongOwner = {},
  ) {
    this.#killing = killing;
    this.#decider = this.#start();
  }

  step(): void {
    this.#survive(() => {
      this.#poll(this.random.whole(0, 6));
      if (this.random.chance(0.6)) this.#tick();
      if (this.random.chance(0.2)) this.#commit();
      this.#maybeKilled();
    });
    this.#hauntAWhile();
  }

  /** Takes up the rules that the stream's readers have. */
  reload(): void {
    this.#decider.setRules(this.world.rules);
  }

  /** Incidents that fire, by what the owner knows. */
  get firing(): readonly string[] {
    return this.#decider
      .states()
      .filter(({ state }) => state === 'firing')
      .map(({ rule, group, episodeMs }) => incidentKey(rule, group, episodeMs));
  }

  /** Reads and decides everything, and is not killed any more. */
  settle(): void {
    this.#killing = 0;
    this.#poll(this.world.log.length);
    this.#tick();
  }

  #survive(work: () => void): void {
    try {
      work();
    } catch (cause) {
      if (!(cause instanceof Killed)) throw cause;
      this.kills++;
      if (this.random.chance(0.2)) {
        this.#zombie = this.#decider;
        this.#zombieAt = this.#position;
      }
      this.#decider = this.#start();
    }
  }

  #maybeKilled(): void {
    if (this.random.chance(this.#killing)) throw new Killed();
  }

  #start(): Decider {
    const decider = new Decider({ partition: 0, ownEpoch: this.states.length, channels: [CHANNEL] });
    decider.setRules(this.world.rules);
    decider.setSources(this.world.lanes.map(({ source }) => source));
    if (this.wrong.restores !== false) decider.restore(this.states);
    const { settledMs } = decider;
    if (settledMs !== undefined) decider.readsFrom(settledMs - decider.reachMs - PANE_MS);
    this.states.push({ kind: 'partition', partition: 0, watermarkMs: settledMs ?? null, epoch: this.states.length, owner: 'o' });
    const { log, rules } = this.world;
    if (settledMs !== undefined && log.some(({ atMs }) => atMs >= settledMs + rules.latenessMs)) decider.passOver();
    const fromMs = settledMs === undefined ? undefined : settledMs - decider.reachMs - PANE_MS - SLACK_MS;
    const found = fromMs === undefined ? 0 : log.findIndex(({ atMs }) => atMs >= fromMs);
    this.#position = this.wrong.rewinds === false ? this.#committed : found < 0 ? log.length : found;
    for (const state of decider.states()) this.#send(decider, state, false);
    return decider;
  }

  #poll(most: number): void {
    const { log } = this.world;
    for (let n = 0; n < most || this.#position < this.#committed; n++) {
      const appended = log[this.#position];
      if (appended === undefined) break;
      this.#decider.accept(appended.message, appended.atMs);
      this.#position++;
    }
  }

  #tick(): void {
    const changed = this.#decider.tick(this.world.nowMs);
    for (const state of changed) {
      if (this.wrong.writesPending === false) this.#send(this.#decider, state, true);
      this.#maybeKilled();
      this.states.push(state);
    }
    this.#maybeKilled();
    for (const state of changed) this.#send(this.#decider, state, true);
  }

  #send(decider: Decider, state: AlertState, killable: boolean): void {
    for (const { transition, send } of pendingSends(state)) {
      if (killable) this.#maybeKilled();
      const { notification } = transition;
      this.told.set(send.key, [...(this.told.get(send.key) ?? []), notification]);
      if (killable) this.#maybeKilled();
      const after = decider.delivered(send.key, send.channel, { kind: 'sent' }, send.attempts + 1, this.world.nowMs);
      if (after !== undefined) this.states.push(after);
    }
  }

  #commit(): void {
    const { settledMs } = this.#decider;
    const epoch = this.states.findLast((record) => record.kind === 'partition')?.epoch ?? 0;
    this.states.push({ kind: 'partition', partition: 0, watermarkMs: settledMs ?? null, epoch, owner: 'o' });
    this.#maybeKilled();
    this.#committed = this.#position;
  }

  /** An owner from before goes on for a while: it writes states, which lose by their epoch, and sees before it sends that it is none any more. */
  #hauntAWhile(): void {
    if (this.#zombie === undefined) return;
    const appended = this.world.log[this.#zombieAt];
    if (appended !== undefined) {
      this.#zombie.accept(appended.message, appended.atMs);
      this.#zombieAt++;
    }
    if (this.random.chance(0.3)) this.states.push(...this.#zombie.tick(this.world.nowMs));
    if (this.random.chance(0.1)) this.#zombie = undefined;
  }
}
