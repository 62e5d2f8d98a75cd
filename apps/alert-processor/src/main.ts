import { ALERT_PARTIALS_TOPIC, ALERT_STATE_TOPIC, groupNamed, POSITIONS_TOPIC, streams, topicsFor } from '@tailrace/events';
import { ContractError, checkTopics, readRetentions, untilReached } from '@tailrace/kafka-kit';
import { ConfigError, runService } from '@tailrace/service';
import { readAlertConfig } from './config.ts';
import { reachFaults } from './panes/check-reach.ts';
import type { RuleSet } from './rules/rule.ts';

/** The stream that rules are about. */
const STREAM = 'service-events';
const GROUP = groupNamed('alert-processor');

await runService({
  name: GROUP.name,
  config: readAlertConfig,
  async start(service, config) {
    const { log, name } = service;
    const kafka = { ...config.kafka, clientId: name };
    const server = { name: 'Kafka', at: kafka.bootstrapServers };
    const names = [...(streams[STREAM] ?? []), ALERT_PARTIALS_TOPIC, ALERT_STATE_TOPIC, POSITIONS_TOPIC];
    const used = topicsFor(config.service.topicProfile).filter((topic) => names.includes(topic.name));
    const check = () => checkTopics(kafka, used, config.service.contract, (sentence) => log.warn(sentence));
    await untilReached(service, server, check, (fault) => fault instanceof ContractError);
    const kept = await untilReached(service, server, () => readRetentions(kafka, [ALERT_PARTIALS_TOPIC]));
    const rules: RuleSet = { rules: [], paneMs: config.paneMs, latenessMs: config.latenessMs, reachMs: 0, silences: [] };
    const faults = reachFaults(ALERT_PARTIALS_TOPIC, kept.get(ALERT_PARTIALS_TOPIC), rules);
    if (faults.length > 0) throw new ConfigError(faults);
  },
});
