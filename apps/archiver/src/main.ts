import { streams, topicsFor } from '@tailrace/events';
import {
  ContractError,
  checkTopics,
  Pace,
  placed,
  runtimeHealth,
  runtimeLog,
  runtimeMetrics,
  systemClock,
  untilReached,
} from '@tailrace/kafka-kit';
import {
  Database,
  Ledger,
  lakeLayout,
  oldestInLake,
  PutIfAbsentIgnored,
  provePutIfAbsent,
  S3Store,
  STREAM,
  withKafka,
} from '@tailrace/lake';
import { runService } from '@tailrace/service';
import type { ArchiveEvent } from './archive-events.ts';
import { archiveHealth } from './archive-health.ts';
import { archiveLog } from './archive-log.ts';
import { archiveMetrics } from './archive-metrics.ts';
import { createArchiver, GROUP, MAX_POLL_INTERVAL_MS } from './archiver.ts';
import { readArchiverConfig } from './config.ts';
import { Losses } from './losses.ts';
import { ReplayWindowWatch } from './replay-window.ts';
import { Spool } from './spool.ts';

/** So long a stop waits for a look at the replay window. */
const LOOK_END_MS = 1000;

await runService({
  name: GROUP.name,
  config: readArchiverConfig,
  async start(service, config) {
    const { start, log, health, metrics, name, fail } = service;
    const servers = {
      kafka: { name: 'Kafka', at: config.kafka.bootstrapServers },
      s3: { name: 'S3', at: config.s3.endpoint ?? `s3://${config.s3.bucket}` },
    };
    const spool = await start(
      'spool',
      () => Spool.open(config.dataFolder),
      (open) => open.close(),
    );
    const store = await start(
      'store',
      () => new S3Store(config.s3),
      (open) => open.close(),
    );
    const database = await start(
      'parquet writer',
      () => Database.open({ memoryLimitMb: config.memoryMb, tempFolder: spool.folder }),
      (open) => open.close(),
    );
    await untilReached(
      service,
      servers.s3,
      () => provePutIfAbsent(store, lakeLayout(config.s3)),
      (fault) => fault instanceof PutIfAbsentIgnored,
    );
    const used = topicsFor(config.service.topicProfile).filter((topic) => streams[STREAM]?.includes(topic.name));
    const check = () => checkTopics({ ...config.kafka, clientId: name }, used, config.service.contract, (sentence) => log.warn(sentence));
    await untilReached(service, servers.kafka, check, (fault) => fault instanceof ContractError);

    const figures = runtimeMetrics(metrics);
    const pace = new Pace(MAX_POLL_INTERVAL_MS, log);
    const runtimeObservers = [figures.observer(GROUP.name), runtimeLog(log), pace.see];
    const losses = new Losses();
    const views = () => archiver?.sink.views() ?? [];
    const windows = new ReplayWindowWatch({
      archived: views,
      withKafka: (work) => withKafka({ ...config.kafka, clientId: name }, name, 'the next look asks again', work),
      oldestInLake: (chain, from) => oldestInLake(new Ledger(store, lakeLayout(config.s3)), chain, from),
      clock: systemClock,
      warn: (sentence) => log.warn(sentence),
    });
    const archiveObservers = [
      archiveLog(log),
      archiveMetrics(metrics, views, () => windows.starts()),
      (event: ArchiveEvent) => losses.observe(event),
    ];
    const open = async () => {
      const made = createArchiver(config, {
        store,
        database,
        spool,
        observeArchive: (event) => {
          for (const observe of archiveObservers) observe(event);
        },
        observeRuntime: (event) => {
          for (const observe of runtimeObservers) observe(event);
        },
      });
      try {
        await made.runtime.start();
        return made;
      } catch (fault) {
        made.close();
        await made.sink.close();
        throw fault;
      }
    };
    let archiver: Awaited<ReturnType<typeof open>> | undefined;
    archiver = await start(
      'consumer',
      () => untilReached(service, servers.kafka, open),
      async ({ runtime, close }, limitMs) => {
        await runtime.stop(limitMs);
        close();
      },
    );
    const { runtime, sink } = archiver;
    await start(
      'replay window',
      () => {
        const stop = new AbortController();
        return { stop, ended: windows.run(stop.signal) };
      },
      async ({ stop, ended }) => {
        stop.abort();
        // A look that Kafka does not answer takes half a minute, and leaves nothing behind that a stop must wait for.
        await Promise.race([ended, systemClock.sleep(LOOK_END_MS)]);
      },
    );
    figures.watch(GROUP.name, runtime, pace);
    health.set('consumer', () => runtimeHealth(runtime, { kafka: placed(servers.kafka), sink: placed(servers.s3) }));
    health.set('pace', () => pace.health());
    health.set('lake', () => archiveHealth(sink.views(), sink.openings(), { kafka: placed(servers.kafka), lake: placed(servers.s3) }));
    health.set('losses', () => losses.check());
    runtime.finished.catch((fault: unknown) => fail(fault instanceof Error ? fault : new Error(String(fault))));
  },
});
