import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('./run-main.ts', import.meta.url));

/** `tailrace replay run` as a process of its own, run from its sources: to be killed. */
export class RunProcess {
  readonly #child: ChildProcess;
  #told = '';

  constructor(environment: Readonly<Record<string, string | undefined>>, topic: string, positionsTopic: string, argv: readonly string[]) {
    this.#child = spawn(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', main, topic, positionsTopic, ...argv], {
      env: { PATH: '/usr/bin:/bin', UV_THREADPOOL_SIZE: '16', ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#told += chunk.toString();
    });
  }

  get told(): string {
    return this.#told;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}
