import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listeningPorts, MARK_VARIABLE, markedProcesses, type ProcessRow, rowText } from '../machine/process-table.ts';
import { until } from '../machine/until.ts';
import { RESULTS_FOLDER } from '../report.ts';
import { Command } from './command.ts';
import { type Endpoints, readEndpoints } from './endpoints.ts';

export type ServiceName = 'ingest-gateway' | 'indexer' | 'archiver' | 'alert-processor';
export type ServerName = 'kafka' | 'opensearch' | 's3proxy';
/** Each of three brokers is a process of its own. */
export type BrokerName = 'kafka-1' | 'kafka-2' | 'kafka-3';
export type ProcessName = ServiceName | ServerName | BrokerName;
export const SERVICES: readonly ServiceName[] = ['ingest-gateway', 'indexer', 'archiver', 'alert-processor'];
export const SERVERS: readonly ServerName[] = ['kafka', 'opensearch', 's3proxy'];

/** How the starter is run: by node, by npm, or by npm in a terminal of its own. */
export type Launch = 'node' | 'npm' | 'npm in a terminal';

export interface PipelineOptions {
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly launch?: Launch;
}

/** A whole start on a loaded machine, class archives made anew included. */
const READY_MS = 300_000;
const STOP_MS = 60_000;

/** What is proven counts every record of the log: none may come by itself. A scenario about canaries sets it otherwise. */
const NO_CANARIES = { ALERT_CANARY_URL: '' };

/** One running `npm start`, with a temporary folder of its own, so that what it leaves behind can be told from what others do. */
export class Pipeline {
  readonly command: Command;
  readonly temporaryFolder: string;
  readonly endpointsFile: string;
  readonly #workFolder: string;
  readonly #mark = randomUUID();

  constructor({ args = ['--rate', '0'], environment = {}, launch = 'node' }: PipelineOptions = {}) {
    this.#workFolder = mkdtempSync(join(tmpdir(), 'tailrace-e2e-'));
    this.temporaryFolder = join(this.#workFolder, 'tmp');
    mkdirSync(this.temporaryFolder);
    this.endpointsFile = join(this.#workFolder, 'endpoints.json');
    const [program, ...words] = commandLine(launch, [...args, '--endpoints', this.endpointsFile]);
    this.command = new Command(program, words, {
      environment: { ...NO_CANARIES, ...environment, TMPDIR: this.temporaryFolder, [MARK_VARIABLE]: this.#mark },
    });
  }

  /** Waits until posts are taken. */
  async ready(): Promise<Endpoints> {
    return await until('the gateway ready for posts', READY_MS, async () => {
      const endpoints = readEndpoints(this.endpointsFile);
      if (endpoints === undefined && !this.command.running)
        throw new Error(`the starter ended first, with: ${this.command.printed.slice(-2000)}`);
      if (endpoints === undefined) return undefined;
      return (await fetch(`${endpoints.gateway}/readyz`)).ok ? endpoints : undefined;
    });
  }

  get endpoints(): Endpoints {
    const endpoints = readEndpoints(this.endpointsFile);
    if (endpoints === undefined) throw new Error('the pipeline is not ready');
    return endpoints;
  }

  /** The living processes that this start made, itself included. */
  processes(): readonly ProcessRow[] {
    return markedProcesses(this.#mark);
  }

  /** The node process that runs `scripts/start.mjs`; undefined when there is none. */
  starter(): ProcessRow | undefined {
    return this.processes().find(({ command }) => command[1]?.endsWith('scripts/start.mjs') === true);
  }

  /** The process of a server or a service: a child of the starter. Undefined while it is down. */
  find(name: ProcessName): ProcessRow | undefined {
    const starter = this.starter()?.pid;
    return this.processes().find(({ parentPid, command }) => parentPid === starter && isProcessOf(name, command));
  }

  pid(name: ProcessName): number {
    const found = this.find(name);
    if (found === undefined) throw new Error(`no process of ${name} is there`);
    return found.pid;
  }

  /** Waits for a process of that name other than `before`. */
  async restarted(name: ProcessName, before: number, limitMs: number): Promise<number> {
    return await until(`a new process of ${name}`, limitMs, () => {
      const pid = this.find(name)?.pid;
      return pid !== undefined && pid !== before ? pid : undefined;
    });
  }

  /** The ports on which processes of this start listen. */
  ports(): readonly number[] {
    const own = new Set(this.processes().map(({ pid }) => pid));
    return listeningPorts().flatMap(({ port, pids }) => (pids.some((pid) => own.has(pid)) ? [port] : []));
  }

  /** What is there of this start now: processes, listening ports out of `ports`, entries of its temporary folder. Empty when nothing is. */
  remains(ports: readonly number[]): string[] {
    const open = new Set(listeningPorts().map(({ port }) => port));
    return [
      ...this.processes().map((row) => `process ${rowText(row)}`),
      ...ports.filter((port) => open.has(port)).map((port) => `port ${port}`),
      ...readdirSync(this.temporaryFolder).map((name) => `temporary ${name}`),
    ];
  }

  /** Stops it in order, as SIGINT does. */
  async stop(): Promise<number | null> {
    const starter = this.starter();
    if (starter !== undefined) process.kill(starter.pid, 'SIGINT');
    return (await this.command.ends(STOP_MS)).code;
  }

  /** Ends what is left of it, however the scenario ended, and removes its folders. After a failure its logs are kept under that name. */
  async end(failedAs: string | undefined): Promise<void> {
    if (failedAs !== undefined) this.#keepLogs(failedAs);
    if (this.command.running) await this.stop().catch(() => undefined); // What does not stop in order is killed next.
    for (const { pid } of this.processes()) kill(pid, 'SIGKILL');
    await until('the end of every process', STOP_MS, () => this.processes().length === 0);
    rmSync(this.#workFolder, { recursive: true, force: true });
  }

  #keepLogs(name: string): void {
    const folder = join(RESULTS_FOLDER, `e2e-${name.replaceAll(/[^0-9A-Za-z]+/g, '-')}`);
    mkdirSync(folder, { recursive: true });
    const logs = readEndpoints(this.endpointsFile)?.folder;
    if (logs !== undefined && existsSync(join(logs, 'logs'))) cpSync(join(logs, 'logs'), folder, { recursive: true });
    writeFileSync(join(folder, 'starter.log'), this.command.printed);
    console.info(`the logs of this run are kept in ${folder}`);
  }
}

/** Sends a signal to a process that may have ended already. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'ESRCH') throw fault;
  }
}

function commandLine(launch: Launch, args: readonly string[]): [string, ...string[]] {
  switch (launch) {
    case 'node':
      return [process.execPath, 'scripts/start.mjs', ...args];
    case 'npm':
      return ['npm', 'start', '--', ...args];
    case 'npm in a terminal':
      // `script` gives it a terminal; what is written to script's standard input is typed there.
      return ['script', '--quiet', '--return', '--command', ['npm start --', ...args].join(' '), '/dev/null'];
  }
}

function isProcessOf(name: ProcessName, command: readonly string[]): boolean {
  const launcher = command.indexOf('Launcher');
  // Behind the launcher: what it starts, and the settings file, which is named like the process.
  return launcher >= 0
    ? command[launcher + 2]?.endsWith(`/${name}.properties`) === true
    : command[1]?.endsWith(`/apps/${name}/dist/main.js`) === true;
}
