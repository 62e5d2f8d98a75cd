import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, copyFileSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { InstanceName } from './instances.ts';
import { type JvmSite, jvmFlags, propertiesFile } from './settings.ts';
import { fullDisk } from './toolchain/data-folder.mjs';
import { Failure, tailOf } from './toolchain/failure.mjs';
import { makeFolder } from './toolchain/make-folder.mjs';
import type { ServerName } from './toolchain/servers.mjs';

const READY_TIMEOUT_MS = 120_000;
const READY_RETRY_MS = 50;
/** Above the time after which the launcher halts itself. */
const STOP_TIMEOUT_MS = 10_000;

const TRAINING_STOP_TIMEOUT_MS = 130_000;

/** What a person calls the server. */
const TITLES: Record<InstanceName, string> = {
  kafka: 'Kafka',
  'kafka-1': 'The first Kafka broker (kafka-1)',
  'kafka-2': 'The second Kafka broker (kafka-2)',
  'kafka-3': 'The third Kafka broker (kafka-3)',
  opensearch: 'OpenSearch',
  s3proxy: 'The S3 server (s3proxy)',
};

export interface ServerPlan {
  readonly name: InstanceName;
  readonly javaHome: string;
  readonly classPath: string;
  readonly jvm: JvmSite;
  readonly settings: Readonly<Record<string, string>>;
  readonly settingsFile: string;
  readonly logFile: string;
  /** Gets a copy of the log when the server fails. */
  readonly failedLogFile: string;
  readonly workFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly lifeline: Writable;
  /** Rejects until the server has answered a real request. */
  readonly answers: () => Promise<void>;
}

/** One server's process. It ends when its standard input closes, so it can not outlive this process. */
export class Server {
  readonly #plan: ServerPlan;
  #child: ChildProcess | undefined;
  #ended: Promise<string> = Promise.resolve('was not started');

  constructor(plan: ServerPlan) {
    this.#plan = plan;
  }

  get name(): InstanceName {
    return this.#plan.name;
  }

  /** What it is one of. */
  get server(): ServerName {
    return this.#plan.jvm.server;
  }

  get logFile(): string {
    return this.#plan.logFile;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get running(): boolean {
    return this.#child?.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves with how the process ended ("exit code 1", "signal SIGKILL"). */
  get ended(): Promise<string> {
    return this.#ended;
  }

  /** Starts the process and waits until it answers. @throws Failure when it ends first or takes too long; the signal's reason on abort. */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const plan = this.#plan;
    // Readable by us alone: the S3 server's holds its secret.
    writeFileSync(plan.settingsFile, propertiesFile(plan.settings), { mode: 0o600 });
    const log = openSync(plan.logFile, 'a');
    const child = spawn(join(plan.javaHome, 'bin', 'java'), [...jvmFlags(plan.jvm), 'Launcher', plan.jvm.server, plan.settingsFile], {
      cwd: plan.workFolder,
      env: { ...plan.environment, CLASSPATH: plan.classPath },
      // A session of its own: Ctrl-C in a terminal must not end the servers before the services have flushed into them.
      detached: true,
      stdio: ['pipe', log, log, plan.lifeline],
    });
    closeSync(log);
    // EPIPE after the server's death: its exit is what is told.
    child.stdin?.on('error', () => {});
    this.#child = child;
    let over = '';
    this.#ended = new Promise<string>((resolve) => {
      const end = (how: string) => {
        over = how;
        resolve(how);
      };
      child.once('error', (failed) => end(failed.message));
      child.once('exit', (code, by) => end(by === null ? `exit code ${code}` : `signal ${by}`));
    });
    await this.#ready(() => over, signal);
  }

  async #ready(over: () => string, signal: AbortSignal): Promise<void> {
    const deadlineMs = Date.now() + READY_TIMEOUT_MS;
    let lastRefusal: unknown;
    while (over() === '') {
      signal.throwIfAborted();
      try {
        await this.#plan.answers();
        return;
      } catch (notYet) {
        lastRefusal = notYet; // Told if it does not pass in time.
      }
      if (Date.now() > deadlineMs) {
        const why = lastRefusal instanceof Error ? lastRefusal.message : String(lastRefusal);
        throw this.failure(`did not answer within ${READY_TIMEOUT_MS / 1000} s (${why})`);
      }
      await delay(READY_RETRY_MS);
    }
    throw this.failure(`did not start: it ended with ${over()}`);
  }

  /** Why another start would not help, and what does; undefined while its disk has room. */
  get fullDisk(): string | undefined {
    const { logFile } = this.#plan;
    return existsSync(logFile) ? fullDisk(dirname(logFile), tailOf(logFile)) : undefined;
  }

  /** What is told when this server fails, with the end of its log. */
  failure(what: string): Failure {
    const { logFile, failedLogFile } = this.#plan;
    if (!existsSync(logFile)) return new Failure(`${TITLES[this.name]} ${what}.`);
    const { fullDisk: full } = this;
    if (full !== undefined) return new Failure(`${TITLES[this.name]} ${what}: ${full}.`);
    makeFolder(dirname(failedLogFile));
    copyFileSync(logFile, failedLogFile);
    return new Failure(`${TITLES[this.name]} ${what}: see the end of its log.`, { logFile: failedLogFile });
  }

  /**
   * Ends the process: orderly, and by force when that takes too long; patiently, which waits for as long
   * as the writing of a class archive takes; or at once with a signal that can not be caught.
   */
  async stop(how: 'orderly' | 'patiently' | 'kill' = 'orderly'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.running) return;
    child.kill(how === 'kill' ? 'SIGKILL' : 'SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), how === 'patiently' ? TRAINING_STOP_TIMEOUT_MS : STOP_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
  }
}
