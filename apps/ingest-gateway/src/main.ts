import { SERVICE_EVENTS_TOPIC, topicsFor } from '@tailrace/events';
import { checkTopics, connectPublisher } from '@tailrace/kafka-kit';
import { kafkaLog, logListening, runService } from '@tailrace/service';
import { readGatewayConfig } from './config.ts';
import { causeFinder } from './find-cause.ts';
import { KafkaLink } from './kafka-link.ts';
import { PostWatch } from './post-watch.ts';
import { startGateway } from './server.ts';

/** A key stays with one producer, and producers take turns: one flushes while the other gathers. */
const PRODUCERS = 2;

await runService({
  name: 'ingest-gateway',
  config: readGatewayConfig,
  async start({ start, log, health, metrics, probes, signal, name }, config) {
    const { maxInFlightBytes } = config;
    const settings = { ...config.kafka, clientId: name };
    const topics = topicsFor(config.service.topicProfile).filter((topic) => topic.name === SERVICE_EVENTS_TOPIC);
    const link = await start(
      'publisher',
      () =>
        new KafkaLink(
          {
            connect: (stop) => connectPublisher(settings, { producers: PRODUCERS, maxInFlightBytes, log: kafkaLog(log), signal: stop }),
            checkTopics: () => checkTopics(settings, topics, config.service.contract, (sentence) => log.warn(sentence)),
          },
          { at: config.kafka.bootstrapServers, maxInFlightBytes, log },
        ),
      (opened, limitMs) => opened.close(limitMs),
    );
    health.set('kafka', () => link.check());
    const watch = new PostWatch({ log, findCause: causeFinder(settings, SERVICE_EVENTS_TOPIC, link), signal });
    health.set('posts', () => watch.check());
    const gateway = await start(
      'gateway',
      () =>
        startGateway({
          config,
          topic: SERVICE_EVENTS_TOPIC,
          publisher: link,
          metrics,
          probes,
          watch,
          closedBecause: () => link.closedBecause(),
        }),
      (server, limitMs) => server.stop(limitMs),
    );
    logListening(log, 'gateway', gateway.url);
    await link.open(signal);
  },
});
