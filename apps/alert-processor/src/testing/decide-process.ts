import { type KafkaSettings, systemClock } from '@tailrace/kafka-kit';
import { openDecide } from '../decide/open-decide.ts';
import { Deliveries, type DeliveryReport } from '../notify/deliveries.ts';
import { openNotifiers } from '../notify/open-notifiers.ts';
import { memberOptions, runMember } from './member-process.ts';
import { plainRule, ruleSet } from './plain-rules.ts';

/** What a member is told on its command line, as JSON. */
export interface DecideProcessOptions {
  readonly kafka: KafkaSettings;
  readonly group: string;
  readonly topics: readonly string[];
  readonly partialsTopic: string;
  readonly stateTopic: string;
  readonly notifiers: string;
  readonly paneMs: number;
  readonly windowMs: number;
}

/** Stage 2 as a process of its own, to be killed. */
const { notifiers, paneMs, windowMs, ...options } = JSON.parse(process.argv[2] ?? '{}') as DecideProcessOptions;
let told: DeliveryReport = () => {};
const deliveries = new Deliveries(openNotifiers(notifiers, {}, systemClock), (...tried) => told(...tried));
const decide = await openDecide({
  ...options,
  ...memberOptions('decide-process'),
  rules: { current: ruleSet([plainRule({ window: { kind: 'sliding', ms: windowMs } })], { paneMs, latenessMs: 0 }), onChange: () => {} },
  deliveries,
  reports(to) {
    told = to;
  },
  tickMs: 50,
});
await runMember(decide);
