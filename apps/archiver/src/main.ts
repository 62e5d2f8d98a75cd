import { streams, topicsFor } from '@tailrace/events';
import { ContractError, checkTopics, Pace, placed, runtimeHealth, runtimeLog, runtimeMetrics, untilReached } from '@tailrace/kafka-kit';
import { Database, lakeLayout, PutIfAbsentIgnored, provePutIfAbsent, S3Store, STREAM } from '@tailrace/lake';
import { runService } from '@tailrace/service';
import type { ArchiveEvent } from './archive-events.ts';
import { archiveHealth } from './archive-health.ts';
import { archiveLog } from './archive-log.ts';
import { archiveMetrics } from './archive-metrics.ts';
import { createArchiver, GROUP, MAX_POLL_INTERVAL_MS } from './archiver.ts';
import { readArchiverConfig } from './config.ts';
import { Losses } from './losses.ts';
import { Spool } from './spool.ts';

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
    const archiveObservers = [
      archiveLog(log),
      archiveMetrics(metrics, () => archiver?.sink.views() ?? []),
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
    figures.watch(GROUP.name, runtime, pace);
    health.set('consumer', () => runtimeHealth(runtime, { kafka: placed(servers.kafka), sink: placed(servers.s3) }));
    health.set('pace', () => pace.health());
    health.set('lake', () => archiveHealth(sink.views(), sink.openings(), { kafka: placed(servers.kafka), lake: placed(servers.s3) }));
    health.set('losses', () => losses.check());
    runtime.finished.catch((fault: unknown) => fail(fault instanceof Error ? fault : new Error(String(fault))));
  },
});
