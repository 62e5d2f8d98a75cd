import { existsSync } from 'node:fs';
import { type Endpoints, processEnvironment, quietAwsSdk } from './config.ts';
import { type Folders, makeFolders } from './folders.ts';
import { planServers } from './plans.ts';
import { Server } from './server.ts';
import { cached, isCached } from './toolchain/cache.mjs';
import { prepareServers, type ServerName, type Toolchain } from './toolchain/servers.mjs';

/**
 * Makes the class archives that are missing: each server is started once, used a little, and writes at its end what it had loaded.
 * A server that starts from its archive is up in a third of the time. Made in one go here and not at the end of a user's first
 * run, which would make that one's Ctrl-C slow, and a kill would leave half an archive.
 * @throws Failure when a server does not start; the signal's reason on abort
 */
export async function trainArchives(signal: AbortSignal, step: <T>(what: string, work: () => Promise<T>) => Promise<T>): Promise<void> {
  const toolchain = await prepareServers({ env: processEnvironment(), signal });
  const missing = (Object.keys(toolchain.archives) as ServerName[]).filter((name) => !isCached(toolchain.archives[name]));
  if (missing.length === 0) return;
  await step('making class archives, so that the servers start in a third of the time', async () => {
    const folders = makeFolders(undefined, toolchain.openSearch);
    try {
      for (const name of missing) await cached(toolchain.archives[name], (path) => train(name, path, toolchain, folders, signal));
    } finally {
      await folders.lifeline.release(5_000);
    }
  });
}

async function train(name: ServerName, archive: string, toolchain: Toolchain, folders: Folders, signal: AbortSignal): Promise<void> {
  const plan = await planServers({ toolchain, folders, jit: 'fast-start', brokers: 1, archiveOf: () => ({ write: archive }) });
  const own = plan.servers.find(({ jvm }) => jvm.server === name);
  if (own === undefined) throw new Error(`no server ${name}`);
  const server = new Server(own);
  const abandon = () => void server.stop('kill');
  signal.addEventListener('abort', abandon, { once: true });
  try {
    await server.start(signal);
    await EXERCISES[name](plan.endpoints);
    await server.stop('patiently');
    signal.throwIfAborted();
    if (!existsSync(archive)) throw server.failure('wrote no class archive');
  } finally {
    signal.removeEventListener('abort', abandon);
    await server.stop('kill');
  }
}

/** What each server is used for, so that the classes of its daily work are in the archive as well. Kafka's are loaded by its start. */
const EXERCISES: Record<ServerName, (endpoints: Endpoints) => Promise<void>> = {
  kafka: async () => {},
  opensearch: async ({ opensearchUrl }) => {
    const json = { 'content-type': 'application/json' };
    const index = `${opensearchUrl}/training`;
    const mappings = {
      dynamic: false,
      properties: {
        at: { type: 'date' },
        word: { type: 'keyword' },
        number: { type: 'double' },
        text: { type: 'text' },
        rest: { type: 'flat_object' },
      },
    };
    await fetch(index, { method: 'PUT', headers: json, body: JSON.stringify({ settings: { number_of_replicas: 0 }, mappings }) });
    const document = JSON.stringify({ at: '2026-01-01T00:00:00Z', word: 'w', number: 1.5, text: 'some text', rest: { a: { b: 'c' } } });
    const lines = Array.from({ length: 200 }, (_, id) => `{"create":{"_id":"${id}"}}\n${document}\n`).join('');
    await fetch(`${index}/_bulk?refresh=true`, { method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body: lines });
    const query = {
      query: { bool: { filter: [{ range: { at: { gte: '2025-01-01' } } }, { term: { word: 'w' } }] } },
      aggs: { words: { terms: { field: 'word' } } },
    };
    await fetch(`${index}/_search`, { method: 'POST', headers: json, body: JSON.stringify(query) });
    await fetch(`${index}/_count`);
    await fetch(index, { method: 'DELETE' });
  },
  s3proxy: async ({ s3 }) => {
    quietAwsSdk();
    const { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } = await import('@aws-sdk/client-s3');
    const client = new S3Client({ endpoint: s3.endpointUrl, region: s3.region, credentials: s3, forcePathStyle: true });
    const object = { Bucket: s3.bucket, Key: 'training/object' };
    await client.send(new PutObjectCommand({ ...object, Body: Buffer.alloc(100_000), IfNoneMatch: '*' }));
    await client.send(new ListObjectsV2Command({ Bucket: s3.bucket, Prefix: 'training/' }));
    await (await client.send(new GetObjectCommand(object))).Body?.transformToByteArray();
    client.destroy();
  },
};
