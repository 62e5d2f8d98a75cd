import { groupNamed, POSITIONS_TOPIC, replayGroupName, streams, topicsFor } from '@tailrace/events';
import {
  type BrokerConsumer,
  type ConsumerRuntime,
  ContractError,
  channelLog,
  checkTopics,
  connectPublisher,
  createConsumerRuntime,
  createNativeConsumer,
  DEFAULT_BACKOFF,
  Pace,
  placed,
  positionsLog,
  type RuntimeEvent,
  readRetentions,
  registerMetrics,
  runtimeHealth,
  runtimeLog,
  runtimeMetrics,
  SideChannel,
  systemClock,
  untilReached,
} from '@tailrace/kafka-kit';
import { type Check, kafkaLog, runService } from '@tailrace/service';
import { type IndexerConfig, readIndexerConfig } from './config.ts';
import { DailyIndices } from './daily-indices.ts';
import { connectDeadLetters, deadLetterTopic } from './dead-letters.ts';
import { IncarnationGate } from './incarnation-gate.ts';
import { IndexSink } from './index-sink.ts';
import { watchIndices } from './index-watch.ts';
import { LazyLakeHistory } from './lake-history.ts';
import { INDEXER_METRICS } from './metric-table.ts';
import { loadParser } from './parser.ts';
import { ReplayConsumer, replayTopic } from './replay-consumer.ts';
import { SearchClient } from './search-client.ts';

/** The stream that is indexed; the alias and the indices bear its name. */
const STREAM = 'service-events';
const GROUP = groupNamed('indexer');
/** The group that reads what is replayed into this one. */
const REPLAY_GROUP = replayGroupName(GROUP.name);
const MIB = 1024 * 1024;
const LOOKUP_TIMEOUT_MS = 10_000;
const MAX_POLL_INTERVAL_MS = 300_000;
const INDEX_LOOK_MS = 10_000;
const INDEX_WELL = 'The indices that are written to have the indexer’s mapping and aliases.';
/** The topic was there at the start: one that is missing was deleted, and is told soon. */
const POSITIONS_PRODUCER = { topicPropagationMs: 5000 };
/** Beside the live records' own: a replay must not take their place in the queue. */
const REPLAY_BULKS_AT_ONCE = 2;
/** Kept of the time for a stop for what comes behind the runtime. */
const STOP_RESERVE_SHARE = 0.2;

await runService({
  name: GROUP.name,
  config: readIndexerConfig,
  async start(service, config) {
    const { start, log, health, metrics, signal, name, fail } = service;
    const kafka = { ...config.kafka, clientId: name };
    const topics = streams[STREAM] ?? [];
    const servers = {
      kafka: { name: 'Kafka', at: kafka.bootstrapServers },
      opensearch: { name: 'OpenSearch', at: config.opensearch.url },
    };
    const parser = config.parser === undefined ? undefined : await loadParser(config.parser);
    const client = await start(
      'opensearch',
      () => new SearchClient(config.opensearch),
      (open) => open.close(),
    );
    const indices = new DailyIndices(client, { name: STREAM, shards: config.shards, replicas: config.replicas });
    await untilReached(service, servers.opensearch, () => indices.putTemplate(signal));
    health.set('index', () => indexHealth(indices));
    const watch = { indexName: STREAM, retentionDays: config.retentionDays, everyMs: INDEX_LOOK_MS, nowMs: Date.now };
    await start(
      'index watch',
      () => watchIndices(indices, { ...watch, onChange: (fault) => (fault === undefined ? log.info(INDEX_WELL) : log.error(fault)) }),
      (running) => running.stop(),
    );
    const channels = topics.map((topic) => replayTopic(topic, GROUP.name));
    const names = [...topics, ...topics.map((topic) => deadLetterTopic(topic, GROUP.name)), ...channels, POSITIONS_TOPIC];
    const used = topicsFor(config.service.topicProfile).filter((topic) => names.includes(topic.name));
    const check = () => checkTopics(kafka, used, config.service.contract, (sentence) => log.warn(sentence));
    await untilReached(service, servers.kafka, check, (fault) => fault instanceof ContractError);

    const retentionMs = await untilReached(service, servers.kafka, () => readRetentions(kafka, topics));
    const lake = await start(
      'lake',
      async () => new LazyLakeHistory(config.s3),
      (opened, limitMs) => opened.close(limitMs),
    );
    const deadLetters = await start(
      'dead letters',
      () =>
        untilReached(service, servers.kafka, () =>
          connectDeadLetters(kafka, { group: GROUP.name, s3: config.s3, halt: config.haltOnDeadLetters, log: kafkaLog(log), signal }),
        ),
      (open, limitMs) => open.close(limitMs),
    );
    const positions = await start(
      'positions',
      () =>
        untilReached(service, servers.kafka, () =>
          connectPublisher(kafka, { producers: 1, maxInFlightBytes: MIB, log: kafkaLog(log), signal, producer: POSITIONS_PRODUCER }),
        ),
      (open, limitMs) => open.close(limitMs),
    );

    const { fallbacks } = registerMetrics(metrics, INDEXER_METRICS, {});
    const figures = runtimeMetrics(metrics);
    const connect = (group: string) =>
      createNativeConsumer(kafka, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: MAX_POLL_INTERVAL_MS });
    const sinkOf = (broker: BrokerConsumer, bulksAtOnce: number) =>
      new IndexSink(
        { ...config, bulksAtOnce, indexName: STREAM },
        {
          client,
          indices,
          incarnations: new IncarnationGate((topic) => broker.incarnation(topic, LOOKUP_TIMEOUT_MS)),
          nowMs: Date.now,
          parser,
          onFallback: (detail) => {
            fallbacks.inc();
            log.debug({ detail }, 'an event was indexed by its typed fields only');
          },
        },
      );
    const watcherOf = (group: string) => {
      const pace = new Pace(MAX_POLL_INTERVAL_MS, log);
      return { pace, observers: [figures.observer(group), runtimeLog(log), pace.see] };
    };
    const toAll = (observers: readonly ((event: RuntimeEvent) => void)[]) => (event: RuntimeEvent) => {
      for (const observe of observers) observe(event);
    };
    const live = watcherOf(GROUP.name);
    const open = async (): Promise<ConsumerRuntime> => {
      const broker = connect(GROUP.name);
      const runtime = createConsumerRuntime(
        {
          ...runtimeOptions(config),
          group: GROUP.name,
          topics,
          sink: sinkOf(broker, config.bulksAtOnce),
          start: GROUP.start,
          gaps: { kind: GROUP.gapPolicy, retentionMs },
        },
        {
          broker,
          clock: systemClock,
          deadLetters: deadLetters.port,
          history: lake,
          positions: positionsLog(kafka, { group: GROUP.name, topic: POSITIONS_TOPIC, publisher: positions }),
          observe: toAll(live.observers),
        },
      );
      await runtime.start();
      return runtime;
    };
    const runtime = await start(
      'consumer',
      () => untilReached(service, servers.kafka, open),
      async (running, limitMs) => {
        await running.stop(limitMs);
      },
    );
    const history = `the lake (s3://${config.s3.bucket})`;
    figures.watch(GROUP.name, runtime, live.pace);
    health.set('consumer', () => runtimeHealth(runtime, { kafka: placed(servers.kafka), sink: placed(servers.opensearch), history }));
    health.set('pace', () => live.pace.health());
    runtime.finished.catch((fault: unknown) => fail(fault instanceof Error ? fault : new Error(String(fault))));

    const replayed = watcherOf(REPLAY_GROUP);
    // What says of no topic of ours that it comes from there must not wait for a topic that nobody makes.
    const sourceOf = (topic: string): string => (topics.includes(topic) ? topic : STREAM);
    const replayLetters = { ...deadLetters.port, topic: (source: string) => deadLetterTopic(sourceOf(source), GROUP.name) };
    const openReplay = async (observe: (event: RuntimeEvent) => void): Promise<ConsumerRuntime> => {
      const broker = connect(REPLAY_GROUP);
      const port = channelLog(kafka, { group: REPLAY_GROUP, topic: POSITIONS_TOPIC, publisher: positions });
      const channel = new SideChannel(sinkOf(broker, REPLAY_BULKS_AT_ONCE), port);
      const replay = createConsumerRuntime(
        { ...replayOptions(config), group: REPLAY_GROUP, topics: channels, sideChannels: channels, sink: channel, start: 'earliest' },
        { broker, clock: systemClock, deadLetters: replayLetters, keeper: channel, observe: toAll([...replayed.observers, observe]) },
      );
      await replay.start();
      return replay;
    };
    const replay = await start(
      'replay consumer',
      () => new ReplayConsumer({ open: openReplay, onFault: (sentence) => log.error(`replayed records wait: ${sentence}`) }),
      // Side by side: one that hangs must not take the other's time.
      (running, limitMs) => Promise.all([running.stop(limitMs), runtime.stop(limitMs)]).then(() => {}),
    );
    figures.watch(REPLAY_GROUP, replay, replayed.pace);
    health.set('replay', () => replay.health({ kafka: placed(servers.kafka), sink: placed(servers.opensearch) }));
  },
});

function indexHealth({ fault }: DailyIndices): Check {
  return fault === undefined ? { state: 'ok', sentence: INDEX_WELL } : { state: 'not-ready', sentence: fault };
}

function runtimeOptions({ maxAgeMs, service }: IndexerConfig) {
  const stopMs = Math.floor(service.stopTimeoutMs * (1 - STOP_RESERVE_SHARE));
  return {
    batch: { maxRecords: 10_000, maxBytes: 4 * MIB, maxAgeMs },
    // Documents are written under ids, so the order of two bulks does not matter: one is built while the other is on its way.
    inFlightPerLane: 2,
    buffer: { pauseAtBytes: 64 * MIB, resumeAtBytes: 32 * MIB },
    backoff: DEFAULT_BACKOFF,
    drain: { revokeMs: Math.min(10_000, stopMs), stopMs },
  };
}

/** As the live records', in little memory: a replay may take its time. */
function replayOptions(config: IndexerConfig) {
  const options = runtimeOptions(config);
  return {
    ...options,
    batch: { ...options.batch, maxBytes: MIB },
    buffer: { pauseAtBytes: 8 * MIB, resumeAtBytes: 4 * MIB },
  };
}
