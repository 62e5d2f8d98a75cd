import { renameSync, writeFileSync } from 'node:fs';
import { environmentOf, Failure } from '@tailrace/stack';
import { LAKE_PREFIX, type Pipeline } from './pipeline.ts';

/** The file for scripts and other tools that says how everything is reached. */
export class EndpointsFile {
  readonly #path: string;
  readonly #pipeline: Pipeline;
  #written = '';
  #gateway: string | undefined;

  constructor(path: string, pipeline: Pipeline) {
    this.#path = path;
    this.#pipeline = pipeline;
  }

  /** Writes it where something has changed since: a part that was started again has another process. Throws Failure. */
  write(): void {
    const text = this.#text();
    if (text === this.#written) return;
    // Also when it fails: one failure is told once.
    this.#written = text;
    try {
      // Readable by this user alone: it holds credentials. Renamed into place: whoever waits for it never reads half of it.
      writeFileSync(`${this.#path}.partial`, text, { mode: 0o600 });
      renameSync(`${this.#path}.partial`, this.#path);
    } catch (cause) {
      throw new Failure(`The endpoints file ${this.#path} can not be written (${(cause as Error).message}): name another one.`, { cause });
    }
  }

  #text(): string {
    const { connections } = this.#pipeline;
    const { endpoints, processes, folder } = this.#pipeline.stack;
    // While the gateway is down its address is the one that it had: it takes the same port again.
    this.#gateway = this.#pipeline.service('ingest-gateway').url('gateway') ?? this.#gateway;
    const services = (['ingest-gateway', 'indexer', 'archiver'] as const).map((name) => ({ name, pid: this.#pipeline.service(name).pid }));
    const content = {
      gateway: this.#gateway,
      ...endpoints,
      folder,
      processes: [...processes.map(({ name, pid }) => ({ name, pid })), ...services],
      environment: { ...environmentOf(endpoints), TAILRACE_TOPIC_PROFILE: connections.profile, TAILRACE_LAKE_PREFIX: LAKE_PREFIX },
    };
    return `${JSON.stringify(content, null, 2)}\n`;
  }
}
