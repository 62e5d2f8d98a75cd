import { ALERT_PARTIALS_TOPIC, ALERT_STATE_TOPIC, groupNamed, POSITIONS_TOPIC, streams, topicsFor } from '@tailrace/events';
import {
  ContractError,
  checkTopics,
  Pace,
  placed,
  readRetentions,
  registerMetrics,
  runtimeHealth,
  runtimeLog,
  runtimeMetrics,
  untilReached,
} from '@tailrace/kafka-kit';
import { ConfigError, runService } from '@tailrace/service';
import { readAlertConfig } from './config.ts';
import { ALERT_METRICS } from './metric-table.ts';
import { reachFaults } from './panes/check-reach.ts';
import { openPanes, type RuleSource } from './panes/open-panes.ts';
import { type WarmUp, warmUpHealth } from './panes/warm-up.ts';

/** The stream that rules are about. */
const STREAM = 'service-events';
const GROUP = groupNamed('alert-processor');
const MAX_POLL_INTERVAL_MS = 60_000;
/** Kept of the time for a stop for what comes behind the runtime. */
const STOP_RESERVE_SHARE = 0.2;

await runService({
  name: GROUP.name,
  config: readAlertConfig,
  async start(service, config) {
    const { start, log, health, metrics, signal, name, fail } = service;
    const kafka = { ...config.kafka, clientId: name };
    const server = { name: 'Kafka', at: kafka.bootstrapServers };
    const topics = streams[STREAM] ?? [];
    const names = [...topics, ALERT_PARTIALS_TOPIC, ALERT_STATE_TOPIC, POSITIONS_TOPIC];
    const used = topicsFor(config.service.topicProfile).filter((topic) => names.includes(topic.name));
    const check = () => checkTopics(kafka, used, config.service.contract, (sentence) => log.warn(sentence));
    await untilReached(service, server, check, (fault) => fault instanceof ContractError);
    const kept = await untilReached(service, server, () => readRetentions(kafka, [ALERT_PARTIALS_TOPIC]));
    const rules: RuleSource = {
      current: { rules: [], paneMs: config.paneMs, latenessMs: config.latenessMs, reachMs: 0, silences: [] },
      onChange: () => {},
    };
    const faults = reachFaults(ALERT_PARTIALS_TOPIC, kept.get(ALERT_PARTIALS_TOPIC), rules.current);
    if (faults.length > 0) throw new ConfigError(faults);

    let warmUp = (): WarmUp => ({ kind: 'waiting' });
    const counted = registerMetrics(metrics, ALERT_METRICS, {
      warmingUp: (set) => set({}, warmUp().kind === 'warming' ? 1 : 0),
      warmUp(set) {
        const state = warmUp();
        if (state.kind === 'warm') set({}, state.tookMs / 1000);
      },
    });
    const figures = runtimeMetrics(metrics);
    const stopMs = Math.floor(config.service.stopTimeoutMs * (1 - STOP_RESERVE_SHARE));
    if (config.stages.includes('panes')) {
      const pace = new Pace(MAX_POLL_INTERVAL_MS, log);
      const observers = [figures.observer(GROUP.name), runtimeLog(log), pace.see];
      const open = () =>
        openPanes({
          kafka,
          group: GROUP.name,
          topics,
          partialsTopic: ALERT_PARTIALS_TOPIC,
          rules,
          tickMs: config.tickMs,
          stopMs,
          maxPollIntervalMs: MAX_POLL_INTERVAL_MS,
          log,
          signal,
          observe(event) {
            for (const observe of observers) observe(event);
          },
          onRetry: (records) => counted.publishRetries.inc(records),
          onPublished(cells, leftOut) {
            counted.cells.inc(cells);
            for (const { late, refused } of leftOut) {
              counted.lateEvents.inc(late);
              for (const [rule, events] of refused) counted.refusedEvents.inc({ rule }, events);
            }
          },
        });
      const panes = await start(
        'panes',
        () => untilReached(service, server, open),
        (running, limitMs) => running.close(limitMs),
      );
      warmUp = () => panes.sink.warmUp;
      figures.watch(GROUP.name, panes.runtime, pace);
      health.set('consumer', () => runtimeHealth(panes.runtime, { kafka: placed(server), sink: placed(server) }));
      health.set('warm-up', () => warmUpHealth(panes.sink.warmUp));
      health.set('pace', () => pace.health());
      panes.runtime.finished.catch((fault: unknown) => fail(fault instanceof Error ? fault : new Error(String(fault))));
    }
  },
});
