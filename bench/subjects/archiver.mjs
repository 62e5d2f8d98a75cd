// The archiver without its service around it: runtime, spool, Parquet, ledger and objects.
import { createArchiver } from '../../apps/archiver/dist/archiver.js';
import { readArchiverConfig } from '../../apps/archiver/dist/config.js';
import { Spool } from '../../apps/archiver/dist/spool.js';
import { Database, S3Store } from '../../packages/lake/dist/index.js';
import { measured, task } from '../lib/subject.mjs';

const { topic, records, group, environment, folder } = task();
Object.assign(process.env, environment, { ARCHIVER_DATA_DIR: folder, ARCHIVER_IDLE_MS: '500', TAILRACE_LAKE_PREFIX: group });

await measured(async (firstRecord) => {
  const config = readArchiverConfig();
  const spool = await Spool.open(config.dataFolder);
  const database = await Database.open({ memoryLimitMb: config.memoryMb, tempFolder: spool.folder });
  const objects = { rows: 0, bytes: 0 };
  let done;
  const all = new Promise((resolve) => {
    done = resolve;
  });
  const { runtime } = createArchiver(
    config,
    {
      store: new S3Store(config.s3),
      database,
      spool,
      observeArchive: (event) => {
        if (event.kind === 'step-failed') console.error(event.cause);
        if (event.kind !== 'object-stored') return;
        objects.rows += event.rows;
        objects.bytes += event.sizeBytes;
        if (objects.rows >= records) done();
      },
      observeRuntime: (event) => {
        if (event.kind === 'handed-over') firstRecord();
        if (event.kind === 'outage') console.error(event.cause);
      },
    },
    { group, topics: [topic] },
  );
  await runtime.start();
  await all;
  return { bytesPerEvent: objects.bytes / objects.rows };
});
