import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { environmentOf, Failure } from '@tailrace/stack';
import { LAKE_PREFIX, type Pipeline, SERVICE_NAMES } from './pipeline.ts';

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
      const partial = `${this.#path}.${process.pid}.partial`;
      writeFileSync(partial, text, { mode: 0o600 });
      renameSync(partial, this.#path);
      // It holds credentials: a kill -9 of this process must not leave it.
      this.#pipeline.stack.removeBehind(this.#path, text);
    } catch (cause) {
      throw new Failure(`The endpoints file ${this.#path} can not be written (${(cause as Error).message}): name another one.`, { cause });
    }
  }

  /**
   * Removes it, unless another start has written it since. It is taken away before it is looked at: between a look and a removal
   * another start could put its own.
   */
  remove(): void {
    if (this.#written === '') return;
    const taken = `${this.#path}.${process.pid}.removed`;
    try {
      renameSync(this.#path, taken);
      // A link and not a rename: it does not replace what was written meanwhile.
      if (readFileSync(taken, 'utf8') !== this.#written) linkSync(taken, this.#path);
    } catch {
      // Somebody removed it, or a newer one stands there already: nothing of ours is left to remove.
    }
    rmSync(taken, { force: true });
  }

  #text(): string {
    const { connections } = this.#pipeline;
    const { endpoints, processes, folder } = this.#pipeline.stack;
    const { kafkaBootstrapServers, opensearchUrl, s3 } = endpoints;
    // While the gateway is down its address is the one that it had: it takes the same port again.
    this.#gateway = this.#pipeline.service('ingest-gateway').url('gateway') ?? this.#gateway;
    const services = SERVICE_NAMES.map((name) => {
      const service = this.#pipeline.service(name);
      return { name, pid: service.pid, ...healthUrls(service.url('health')) };
    });
    const content = {
      gateway: this.#gateway,
      kafkaBootstrapServers,
      opensearchUrl,
      // Field by field: the S3 client adds fields of its own to the object that it is given.
      s3: {
        endpointUrl: s3.endpointUrl,
        region: s3.region,
        accessKeyId: s3.accessKeyId,
        secretAccessKey: s3.secretAccessKey,
        bucket: s3.bucket,
      },
      folder,
      processes: [...processes.map(({ name, pid }) => ({ name, pid })), ...services],
      environment: { ...environmentOf(endpoints), TAILRACE_TOPIC_PROFILE: connections.profile, TAILRACE_LAKE_PREFIX: LAKE_PREFIX },
    };
    return `${JSON.stringify(content, null, 2)}\n`;
  }
}

/** Where a service says how it is; nothing while it has not said where. */
function healthUrls(url: string | undefined): { livez?: string; readyz?: string; metrics?: string } {
  return url === undefined ? {} : { livez: `${url}/livez`, readyz: `${url}/readyz`, metrics: `${url}/metrics` };
}
