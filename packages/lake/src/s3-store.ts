import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { silenceNodeVersionWarning } from './config.ts';
import { FileDamage } from './file-damage.ts';
import { type ListedObject, type ObjectStore, StoreError } from './object-store.ts';
import { CONNECT_MS, isChecksumMismatch, noAnswer, s3Fault, statusOf } from './s3-faults.ts';

export interface S3Settings {
  readonly bucket: string;
  readonly region: string;
  /** A server other than AWS; the bucket then stands in the path. */
  readonly endpoint?: string | undefined;
  /** Without an access key the SDK looks in its usual places (profile, instance role). */
  readonly accessKeyId?: string | undefined;
  readonly secretAccessKey?: string | undefined;
  readonly sessionToken?: string | undefined;
}

const SMALL_REQUEST_MS = 15_000;
/** A transfer may take this long on top, per MiB: 1 Mbit/s and a bit. */
const PER_MIB_MS = 8_000;
/** Two writers of one key at once: AWS asks the later one to come again. */
const CONFLICT_ATTEMPTS = 5;
const CONFLICT_WAIT_MS = 50;

/** The object store behind the S3 API. */
export class S3Store implements ObjectStore {
  readonly name: string;
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(settings: S3Settings) {
    silenceNodeVersionWarning();
    this.name = `s3://${settings.bucket}`;
    this.#bucket = settings.bucket;
    this.#client = new S3Client({
      region: settings.region,
      maxAttempts: 2,
      requestHandler: { connectionTimeout: CONNECT_MS },
      ...(settings.endpoint === undefined ? {} : { endpoint: settings.endpoint, forcePathStyle: true }),
      ...credentialsOf(settings),
    });
  }

  async putIfAbsent(key: string, body: Buffer): Promise<'created' | 'exists'> {
    const command = { Bucket: this.#bucket, Key: key, Body: body, ContentLength: body.length, IfNoneMatch: '*' };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#client.send(new PutObjectCommand(command), { abortSignal: bound(body.length) });
        return 'created';
      } catch (error) {
        if (statusOf(error) === 412) return 'exists';
        if (statusOf(error) !== 409 || attempt === CONFLICT_ATTEMPTS) throw s3Fault(this.name, `write ${key}`, error, limitMs(body.length));
      }
      await sleep(CONFLICT_WAIT_MS * attempt);
    }
  }

  async get(key: string): Promise<Buffer | undefined> {
    return await this.#read(key, undefined);
  }

  async getRange(key: string, start: number, end: number): Promise<Buffer | undefined> {
    return await this.#read(key, `bytes=${start}-${end - 1}`);
  }

  async sizeBytes(key: string): Promise<number | undefined> {
    try {
      const head = await this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal: bound(0) });
      return head.ContentLength ?? 0;
    } catch (error) {
      if (statusOf(error) !== 404) throw s3Fault(this.name, `look up ${key}`, error, limitMs(0));
    }
    // The answer to a HEAD has no body, so a missing bucket looks like a missing object: only with the bucket there is it one.
    await this.#requireBucket();
    return undefined;
  }

  async *list(prefix: string, options: { readonly startAfter?: string } = {}): AsyncIterable<ListedObject> {
    let token: string | undefined;
    do {
      const page = await this.#page(prefix, options.startAfter, token);
      for (const { Key, Size } of page.Contents ?? []) if (Key !== undefined) yield { key: Key, sizeBytes: Size ?? 0 };
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async delete(key: string): Promise<void> {
    try {
      await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal: bound(0) });
    } catch (error) {
      throw s3Fault(this.name, `delete ${key}`, error, limitMs(0));
    }
  }

  close(): void {
    this.#client.destroy();
  }

  async #page(prefix: string, startAfter: string | undefined, token: string | undefined) {
    try {
      const from = token === undefined ? { StartAfter: startAfter } : { ContinuationToken: token };
      return await this.#client.send(new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: prefix, ...from }), {
        abortSignal: bound(0),
      });
    } catch (error) {
      throw s3Fault(this.name, `list ${prefix}`, error, limitMs(0));
    }
  }

  async #read(key: string, range: string | undefined): Promise<Buffer | undefined> {
    try {
      return await this.#readOnce(key, range);
    } catch (error) {
      // Bytes may also be damaged on their way: only what comes twice is the object's.
      if (error instanceof FileDamage) return await this.#readOnce(key, range);
      throw error;
    }
  }

  async #readOnce(key: string, range: string | undefined): Promise<Buffer | undefined> {
    let answer: GetObjectCommandOutput;
    let allowedMs = SMALL_REQUEST_MS;
    const answering = new AbortController();
    const headersDue = setTimeout(() => answering.abort(), allowedMs);
    let bodyDue: NodeJS.Timeout | undefined;
    try {
      answer = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key, Range: range }), {
        abortSignal: answering.signal,
      });
      clearTimeout(headersDue);
      allowedMs = limitMs(answer.ContentLength ?? 0);
      bodyDue = setTimeout(() => answering.abort(), allowedMs);
      const bytes = await answer.Body?.transformToByteArray();
      return Buffer.from(bytes ?? new Uint8Array());
    } catch (error) {
      if (answering.signal.aborted) throw noAnswer(this.name, `read ${key}`, allowedMs, error);
      if (error instanceof Error && error.name === 'NoSuchKey') return undefined;
      if (isChecksumMismatch(error)) throw new FileDamage(key, 'its bytes do not fit the checksum that the store keeps of them');
      if (statusOf(error) === 416) throw new FileDamage(key, 'it ends before the bytes that were asked for');
      throw s3Fault(this.name, `read ${key}`, error, allowedMs);
    } finally {
      clearTimeout(headersDue);
      clearTimeout(bodyDue);
    }
  }

  async #requireBucket(): Promise<void> {
    try {
      await this.#client.send(new HeadBucketCommand({ Bucket: this.#bucket }), { abortSignal: bound(0) });
    } catch (error) {
      if (statusOf(error) === 404) throw new StoreError(`The bucket of ${this.name} does not exist: make it, or name another.`, error);
      throw s3Fault(this.name, 'look up the bucket', error, limitMs(0));
    }
  }
}

function credentialsOf({ accessKeyId, secretAccessKey, sessionToken }: S3Settings) {
  if (accessKeyId === undefined || secretAccessKey === undefined) return {};
  return { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } };
}

function limitMs(bytes: number): number {
  return SMALL_REQUEST_MS + Math.ceil(bytes / 2 ** 20) * PER_MIB_MS;
}

function bound(bytes: number): AbortSignal {
  return AbortSignal.timeout(limitMs(bytes));
}
