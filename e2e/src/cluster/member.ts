import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { readListening } from '@tailrace/service';
import { until } from '../machine/until.ts';
import { ROOT } from '../root.ts';

export type GroupName = 'archiver' | 'indexer';
/** Every group that reads the stream. */
export type StreamGroup = GroupName | 'alert-processor';
/** What runs as a process of its own: a member of a group, or the gateway. */
export type AppName = StreamGroup | 'ingest-gateway';

export interface MemberOptions {
  readonly app: AppName;
  /** Its own among all members of a cluster. */
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Held by the process while it lives, so that the folder of its files is removed only behind it. */
  readonly lifeline: Writable;
  /** Its clock stands still but for `tellTime`. */
  readonly clock?: boolean;
}

const LOOK_MS = 1000;
const START_MS = 60_000;
/** Longer than a service's own stop may take (25 s). */
const STOP_MS = 40_000;

/**
 * Stops a process (SIGSTOP), and lets it go on when its own standard input ends: also when whoever asked for it is killed, since a
 * stopped process can not notice that it should end.
 */
const HOLD = 'kill -STOP "$1"; cat >/dev/null; kill -CONT "$1"';

/** One service as a process of its own. It ends when its standard input does, and so never outlives this process. */
export class Member {
  readonly app: AppName;
  readonly name: string;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #log: WriteStream;
  #health: string | undefined;
  #gateway: string | undefined;
  #held: ChildProcess | undefined;
  #killed = false;

  constructor({ app, name, environment, logFile, lifeline, clock = false }: MemberOptions) {
    this.app = app;
    this.name = name;
    this.#log = createWriteStream(logFile, { flags: 'a' });
    this.#child = spawn(process.execPath, [join(ROOT, `apps/${app}/dist/${clock ? 'testing/clocked-main' : 'main'}.js`)], {
      env: { UV_THREADPOOL_SIZE: '16', HEALTH_PORT: '0', ...environment, TAILRACE_STOP_ON_STDIN_END: '1' },
      // A session of its own: Ctrl-C is for whoever started it, and stops the parts in order.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', lifeline, ...(clock ? (['ipc'] as const) : [])],
    });
    this.#child.stdin?.on('error', () => {}); // EPIPE of one that was killed: its end is what is looked at.
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.#log.write(`${line}\n`);
        const listening = readListening(line);
        if (listening?.server === 'health') this.#health = listening.url;
        if (listening?.server === 'gateway') this.#gateway = listening.url;
      });
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (fault) => resolve(fault.message));
      this.#child.once('close', (code, signal) => this.#log.end(() => resolve(signal ?? `exit code ${code}`)));
    });
  }

  get running(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Whether it came so far that it served its health. */
  get wasUp(): boolean {
    return this.#health !== undefined;
  }

  /** Whether its end was asked for. */
  get killed(): boolean {
    return this.#killed;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Where a gateway takes posts. */
  get gatewayUrl(): string {
    return this.#gateway ?? '';
  }

  /** Waits until `/readyz` says that all is well. @throws Error with what it says else */
  async ready(): Promise<void> {
    await this.up();
    await until(`${this.name} ready`, START_MS, async () => {
      const { ok, text } = await this.readyz();
      if (ok) return true;
      throw new Error(text.slice(0, 500));
    });
  }

  /** What `/readyz` says. */
  async readyz(): Promise<{ readonly ok: boolean; readonly text: string }> {
    const answer = await fetch(`${this.#health}/readyz`, { signal: AbortSignal.timeout(LOOK_MS) });
    return { ok: answer.ok, text: await answer.text() };
  }

  /** Waits until it has come so far that it serves its health. @throws Error when it ends first */
  async up(): Promise<void> {
    await until(`the start of ${this.name}`, START_MS, () => {
      if (this.#health !== undefined) return true;
      if (!this.running) throw new Error(`it ended with ${this.#child.exitCode ?? this.#child.signalCode}`);
      return false;
    });
  }

  /** The partitions that it says it owns now; none where it does not answer: it starts, is held, or has ended. */
  async partitions(): Promise<readonly number[]> {
    const lags = (await this.metrics()).matchAll(/^tailrace_consumer_lag_records\{.*topic="service-events",partition="(\d+)"/gm);
    return [...lags].map(([, partition]) => Number(partition));
  }

  /** How late it says that it is as a member of a group, in seconds: the greatest of its partitions. */
  async lagSeconds(group: StreamGroup): Promise<number> {
    const lags = (await this.metrics()).matchAll(/^tailrace_consumer_lag_seconds\{group="([^"]+)".*\} (\S+)$/gm);
    return Math.max(0, ...[...lags].filter(([, of]) => of === group).map(([, , seconds]) => Number(seconds)));
  }

  /** Sets the clock of a process that was started for it. */
  tellTime(nowMs: number): void {
    // One that was killed a moment ago hears nothing any more.
    if (this.#child.connected) this.#child.send({ nowMs }, () => {});
  }

  /** How far the two stages of an alert processor have got, of each partition that it owns: by the clock of its process. */
  async alertsUpTo(): Promise<{ readonly panes: readonly number[]; readonly decided: readonly number[] }> {
    const page = await this.metrics();
    const of = (name: string) =>
      [...page.matchAll(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'gm'))].map(([, seconds]) => Number(seconds) * 1000);
    return { panes: of('tailrace_alert_watermark_seconds'), decided: of('tailrace_alert_decided_watermark_seconds') };
  }

  /** A figure of its metrics by its name with all labels, as the page has it; undefined where it does not tell it. */
  async figure(name: string): Promise<number | undefined> {
    const line = (await this.metrics()).split('\n').find((each) => each.startsWith(`${name} `));
    const value = line?.slice(name.length + 1);
    return value === undefined ? undefined : Number(value);
  }

  /** Its page of metrics; empty where it does not answer: whoever waits looks again, and says so if it never does. */
  async metrics(): Promise<string> {
    if (this.#health === undefined || this.#held !== undefined || !this.running) return '';
    try {
      return await (await fetch(`${this.#health}/metrics`, { signal: AbortSignal.timeout(LOOK_MS) })).text();
    } catch {
      return ''; // As good as no answer.
    }
  }

  /** kill -9. Resolves when it has ended. */
  async kill(): Promise<void> {
    this.#killed = true;
    this.#child.kill('SIGKILL');
    await this.ended;
    this.release();
  }

  /** Tells it to end and waits for it. Resolves with its exit code. */
  async leave(): Promise<number | null> {
    this.#killed = true;
    this.#child.kill('SIGTERM');
    await until(`the end of ${this.name} behind SIGTERM`, STOP_MS, () => !this.running);
    await this.ended;
    return this.#child.exitCode;
  }

  /** SIGSTOP, until `release`. */
  hold(): void {
    this.#held = spawn('sh', ['-c', HOLD, 'hold', String(this.pid)], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    this.#held.stdin?.on('error', () => {}); // EPIPE where it has ended with the process that it held.
  }

  /** SIGCONT. */
  release(): void {
    this.#held?.stdin?.end();
    this.#held = undefined;
  }
}
