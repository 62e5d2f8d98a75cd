import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { backoffMs, DEFAULT_BACKOFF } from '@tailrace/kafka-kit';
import { readListening } from '@tailrace/service';
import { Failure, fullDisk } from '@tailrace/stack';

export interface ServiceProcessOptions {
  readonly name: 'ingest-gateway' | 'indexer' | 'archiver' | 'alert-processor';
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A server of it that people and scripts reach by address: it gets its port again after a restart, by the variable that sets it. */
  readonly keepsPort: { readonly server: string; readonly variable: string } | undefined;
  readonly logFile: string;
  /** Held by the process while it lives, so that the folder of its files is removed only behind it. */
  readonly lifeline: Writable | undefined;
  readonly report: (line: string) => void;
}

/** How long a stopped process may take before it is killed: longer than its own deadline. */
const STOP_GRACE_MS = 30_000;
/** A process that lived so long has earned a quick restart. */
const HEALTHY_AFTER_MS = 30_000;
const WRONG_CONFIGURATION = 2;

/** A service as a process of its own, started again with backoff when it dies. It ends when this process does: its standard input closes. */
export class ServiceProcess {
  readonly name: string;
  readonly #options: ServiceProcessOptions;
  readonly #log: WriteStream;
  readonly #urls = new Map<string, string>();
  #keptPort: Readonly<Record<string, string>> = {};
  #child: ChildProcess | undefined;
  /** The last line that says why it can not go on: its log may be gone with the folder before anybody looks. */
  #refusal: string | undefined;
  #stopping = false;
  #stopped: Promise<void> | undefined;
  #deaths = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<() => void>();
  #broken: (error: Error) => void = () => {};
  /** Rejects when another start would end the same way. */
  readonly broken: Promise<never>;

  constructor(options: ServiceProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = createWriteStream(options.logFile, { flags: 'a' });
    // Most often the first that a full disk is noticed by. Unheard it would end this process and leave all others behind.
    this.#log.once('error', (cause) => this.#broken(logFailure(options, cause)));
    this.broken = new Promise((_, reject) => {
      this.#broken = reject;
    });
    // Whoever waits is told; nobody waiting is no fault of its own.
    this.broken.catch(() => {});
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The address of one of its servers (`health`, `gateway`), once its log has said it. */
  url(server: string): string | undefined {
    return this.#urls.get(server);
  }

  start(): void {
    const startedMs = Date.now();
    const script = fileURLToPath(new URL(`../../${this.#options.name}/dist/main.js`, import.meta.url));
    const child = spawn(process.execPath, [script], {
      // The native client and its look-ups each hold a pool thread while they wait.
      env: { UV_THREADPOOL_SIZE: '16', ...this.#options.environment, ...this.#keptPort, TAILRACE_STOP_ON_STDIN_END: '1' },
      // A session of its own: Ctrl-C in the terminal reaches only the starter, which stops the parts in order.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', ...(this.#options.lifeline === undefined ? [] : [this.#options.lifeline])],
    });
    this.#child = child;
    child.stdin?.on('error', () => {}); // EPIPE of a process that died: its exit is what is acted on.
    this.#urls.clear();
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => this.#line(line));
    }
    child.once('error', (error) => this.#broken(new Error(`The ${this.name} could not be started: ${error.message}.`)));
    child.once('exit', (code, signal) => this.#exited(code, signal, Date.now() - startedMs));
  }

  /** Resolves with the address once the process has said it, also after restarts. Rejects when it is broken. */
  async waitForUrl(server: string): Promise<string> {
    for (;;) {
      const url = this.#urls.get(server);
      if (url !== undefined) return url;
      await Promise.race([
        this.broken,
        new Promise<void>((resolve) => {
          this.#waiting.add(resolve);
        }),
      ]);
    }
  }

  /** Lets it finish its work; resolves when the process has ended. Callers share one stop. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.stdin?.end();
      const kill = setTimeout(() => {
        this.#options.report(`${this.name} did not stop within ${STOP_GRACE_MS / 1000} s and is killed`);
        child.kill('SIGKILL');
      }, STOP_GRACE_MS);
      await ended;
      clearTimeout(kill);
    }
    await new Promise<void>((resolve) => this.#log.end(resolve));
  }

  #line(line: string): void {
    if (this.#log.writable) this.#log.write(`${line}\n`);
    this.#refusal = refusalIn(line) ?? this.#refusal;
    const listening = readListening(line);
    if (listening === undefined) return;
    this.#urls.set(listening.server, listening.url);
    const { keepsPort } = this.#options;
    if (listening.server === keepsPort?.server) this.#keptPort = { [keepsPort.variable]: new URL(listening.url).port };
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #exited(code: number | null, signal: NodeJS.Signals | null, livedMs: number): void {
    if (this.#stopping) return;
    const how = signal === null ? `exit code ${code}` : signal;
    if (code === WRONG_CONFIGURATION) {
      this.#broken(
        new Error(`The ${this.name} refuses its configuration: ${this.#refusal ?? `its log says why, ${this.#options.logFile}`}`),
      );
      return;
    }
    // One that gave up before it listened may have met its old port taken: the next one takes any.
    if (signal === null && !this.#urls.has(this.#options.keepsPort?.server ?? '')) this.#keptPort = {};
    this.#deaths = livedMs > HEALTHY_AFTER_MS ? 0 : this.#deaths + 1;
    const waitMs = Math.round(backoffMs(DEFAULT_BACKOFF, this.#deaths));
    this.#options.report(`${this.name} ended with ${how}; it is started again in ${waitMs} ms (log: ${this.#options.logFile})`);
    this.#timer = setTimeout(() => this.start(), waitMs);
  }
}

function logFailure({ name, logFile }: ServiceProcessOptions, cause: Error): Failure {
  const why = fullDisk(dirname(logFile), cause) ?? `${cause.message}: name another folder`;
  return new Failure(`The log of the ${name} can not be written, ${why}.`, { cause });
}

/** What a line says that tells why a service can not start: plain text before it logs, a fatal line afterwards. */
function refusalIn(line: string): string | undefined {
  if (!line.startsWith('{')) return line.trim() === '' ? undefined : line.trim();
  try {
    const { level, msg } = JSON.parse(line) as { readonly level?: unknown; readonly msg?: unknown };
    return level === 'fatal' && typeof msg === 'string' ? msg : undefined;
  } catch {
    return undefined; // No line of ours: it says nothing that could be told.
  }
}
