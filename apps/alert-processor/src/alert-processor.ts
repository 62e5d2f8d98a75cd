import { setFlagsFromString } from 'node:v8';
import { ALERT_PARTIALS_TOPIC, ALERT_STATE_TOPIC, groupNamed, POSITIONS_TOPIC, streams, topicsFor } from '@tailrace/events';
import { ContractError, checkTopics, readRetentions, runtimeMetrics, systemClock, untilReached } from '@tailrace/kafka-kit';
import { runService } from '@tailrace/service';
import { ownEnvironment, readAlertConfig } from './config.ts';
import { startDecide } from './decide/start-decide.ts';
import type { Message } from './messages/message.ts';
import { alertMetrics } from './metrics.ts';
import { notifiersLine, openNotifiers } from './notify/open-notifiers.ts';
import { reachFaults } from './panes/check-reach.ts';
import { countedRules } from './panes/rule-source.ts';
import { startPanes } from './panes/start-panes.ts';
import { RuleBook } from './rules/rule-book.ts';
import { startWatch } from './watch/start-watch.ts';
import type { Watch } from './watch/watch.ts';

/** The stream that rules are about. */
const STREAM = 'service-events';
const GROUP = groupNamed('alert-processor');

/** The old heap is collected when it has grown by half. Left alone it grows to several times what lives in it while the machine has memory (decision 27). */
const HEAP_GROWTH = '--heap-growing-percent=50';

/** Runs the alert processor. `nowMs`: the clock that its ticks go by. */
export function runAlertProcessor(nowMs: () => number): Promise<void> {
  setFlagsFromString(HEAP_GROWTH);
  return runService({
    name: GROUP.name,
    config: readAlertConfig,
    async start(service, config) {
      const { start, log, health, name } = service;
      const decides = config.stages.includes('decide');
      // Before any server is waited for: a file that is wrong is told at once.
      const notifiers = decides ? openNotifiers(config.notifiers, ownEnvironment, systemClock) : [];
      const channels = notifiers.map((notifier) => notifier.name);
      if (decides) log.info(notifiersLine(notifiers));
      const kafka = { ...config.kafka, clientId: name };
      const server = { name: 'Kafka', at: kafka.bootstrapServers };
      const topics = streams[STREAM] ?? [];
      const names = [...topics, ALERT_PARTIALS_TOPIC, ALERT_STATE_TOPIC, POSITIONS_TOPIC];
      const used = topicsFor(config.service.topicProfile).filter((topic) => names.includes(topic.name));
      const check = () => checkTopics(kafka, used, config.service.contract, (sentence) => log.warn(sentence));
      await untilReached(service, server, check, (fault) => fault instanceof ContractError);
      const kept = await untilReached(service, server, () => readRetentions(kafka, [ALERT_PARTIALS_TOPIC]));
      const book = await start(
        'rules',
        () =>
          RuleBook.open({
            path: config.rules,
            paneMs: config.paneMs,
            latenessMs: config.latenessMs,
            clock: systemClock,
            log,
            notifiers: decides ? channels : undefined,
            check: (read) => reachFaults(ALERT_PARTIALS_TOPIC, kept.get(ALERT_PARTIALS_TOPIC), read),
          }),
        (opened) => opened.close(),
      );
      health.set('rules', () => book.health());
      const rules = countedRules(book);
      const metrics = alertMetrics(service.metrics);
      metrics.readings.rules = () => ({ count: book.current.rules.length, refused: book.refused });
      const figures = runtimeMetrics(service.metrics);
      const parts = { kafka, group: GROUP.name, topics, partialsTopic: ALERT_PARTIALS_TOPIC, rules, metrics, figures, nowMs };
      let watch: Watch | undefined;
      const told = {
        onMessage: (partition: number, message: Message) => watch?.accepted(partition, message),
        onTicked: (partition: number) => watch?.ticked(partition),
      };
      const deciding = decides
        ? await startDecide(service, config, { ...parts, ...told, stateTopic: ALERT_STATE_TOPIC, notifiers })
        : undefined;
      if (config.stages.includes('panes')) await startPanes(service, config, parts);
      const { allowedDelayMs } = GROUP;
      if (deciding !== undefined) watch = await startWatch(service, config, { stream: STREAM, allowedDelayMs, deciding, nowMs });
    },
  });
}
