import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { environmentOf, Failure } from '@tailrace/stack';
import { inspectEndpointsFile, ownOwner } from './endpoints-owner.mjs';
import { LAKE_PREFIX, type Pipeline, SERVICE_NAMES } from './pipeline.ts';

/** The file for scripts and other tools that says how everything is reached. It replaces and removes nothing that is not ours. */
export class EndpointsFile {
  readonly #path: string;
  readonly #pipeline: Pipeline;
  readonly #owner = ownOwner();
  /** What was last tried, and what stands there by us. */
  #tried = '';
  #written = '';
  #gateway: string | undefined;

  constructor(path: string, pipeline: Pipeline) {
    this.#path = path;
    this.#pipeline = pipeline;
  }

  /**
   * Writes it where something has changed since: a part that was started again has another process. Throws Failure, with exit code 2
   * when somebody else's file stands there.
   */
  write(): void {
    const text = this.#text();
    if (text === this.#tried) return;
    // Also when it fails: one failure is told once.
    this.#tried = text;
    const partial = `${this.#path}.${process.pid}.partial`;
    try {
      // Readable by this user alone: it holds credentials. Put into place whole: whoever waits for it never reads half of it.
      writeFileSync(partial, text, { mode: 0o600 });
      this.#place(partial);
      this.#written = text;
      // It holds credentials: a kill -9 of this process must not leave it.
      this.#pipeline.stack.removeBehind(this.#path, text);
    } catch (cause) {
      if (cause instanceof Failure) throw cause;
      throw new Failure(`The endpoints file ${this.#path} can not be written (${(cause as Error).message}): name another one.`, { cause });
    } finally {
      rmSync(partial, { force: true });
    }
  }

  /** Removes it, unless somebody else has written it since. */
  remove(): void {
    if (this.#written !== '') this.#takeAway(this.#written);
  }

  #place(partial: string): void {
    if (this.#written !== '' && textOf(this.#path) === this.#written) {
      renameSync(partial, this.#path);
      return;
    }
    // It was free when this start began: another one may have been quicker since.
    const found = inspectEndpointsFile(this.#path);
    if (found.kind === 'refused') throw new Failure(found.sentence, { exitCode: 2 });
    if (found.kind === 'stale') this.#takeAway(found.text);
    placeNew(partial, this.#path);
  }

  /**
   * Removes the file if it holds this text. It is taken away before it is looked at: between a look and a removal another start could
   * put its own.
   */
  #takeAway(text: string): void {
    if (textOf(this.#path) !== text) return;
    const taken = `${this.#path}.${process.pid}.removed`;
    try {
      renameSync(this.#path, taken);
      // A link and not a rename: it does not replace what was written meanwhile.
      if (textOf(taken) !== text) linkSync(taken, this.#path);
    } catch {
      // Somebody removed it, or a newer one stands there already: nothing of ours is left to remove.
    }
    rmSync(taken, { force: true });
  }

  #text(): string {
    const { connections, rules } = this.#pipeline;
    const { endpoints, processes, folder } = this.#pipeline.stack;
    const { kafkaBootstrapServers, opensearchUrl, s3 } = endpoints;
    // While the gateway is down its address is the one that it had: it takes the same port again.
    this.#gateway = this.#pipeline.service('ingest-gateway').url('gateway') ?? this.#gateway;
    const services = SERVICE_NAMES.map((name) => {
      const service = this.#pipeline.service(name);
      return { name, pid: service.pid, ...healthUrls(service.url('health')) };
    });
    const content = {
      owner: this.#owner,
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
      rules,
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

/** By a link and not a rename: it replaces nothing. */
function placeNew(partial: string, path: string): void {
  try {
    linkSync(partial, path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new Failure(`The endpoints file ${path} was just made by another start: name another one.`, { exitCode: 2 });
    // Some disks know no links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw cause;
    renameSync(partial, path);
  }
}

/** Undefined where no file is, or none that can be read: it is not what we have written. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
