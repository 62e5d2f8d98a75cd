import {
  type ConfigOf,
  type Environment,
  httpUrl,
  instanceId,
  kafkaVariables,
  loadConfig,
  milliseconds,
  oneOf,
  readableFile,
  serviceVariables,
  type VariableTable,
} from '@tailrace/service';

/** Every setting of the alert processor. */
export const alertVariables = {
  service: serviceVariables,
  kafka: kafkaVariables,
  rules: {
    name: 'ALERT_RULES',
    about: 'The rules: a YAML file, or a folder whose *.yaml files are read together. A change is taken over while the process runs.',
    format: readableFile().describe('the path of a file or folder that can be read'),
    need: 'required',
  },
  notifiers: {
    name: 'ALERT_NOTIFIERS',
    about: 'A YAML file of the channels that alerts are told through. Not set: alerts are only kept, logged and listed.',
    format: readableFile(),
    need: 'optional',
  },
  paneMs: {
    name: 'ALERT_PANE_MS',
    about: 'The length of a pane. Windows are whole panes; a change begins the counting of every rule anew.',
    format: milliseconds(1000, 3_600_000),
    need: { default: '10000' },
  },
  tickMs: {
    name: 'ALERT_TICK_MS',
    about:
      'How often what has changed is published, and how often it is decided. Under load it is published less often, up to once a second.',
    format: milliseconds(10, 10_000),
    need: { default: '250' },
  },
  latenessMs: {
    name: 'ALERT_LATENESS_MS',
    about:
      'How much later than its own time an event may reach Kafka and still be counted. Alerts that need complete windows (absence, `<`, the end of an alert) wait for it.',
    format: milliseconds(0, 3_600_000),
    need: { default: '60000' },
  },
  stages: {
    name: 'ALERT_STAGES',
    about: 'What this process does: count events into panes, decide upon them, or both. Every stage must run somewhere.',
    format: oneOf(['panes,decide', 'panes', 'decide']),
    need: { default: 'panes,decide' },
  },
  instanceId: {
    name: 'KAFKA_GROUP_INSTANCE_ID',
    about:
      'A name that this process has in its groups and no other one has, the same one after each restart, such as the name of its pod: then it has its partitions again as soon as it is back, also behind a kill -9, and they wait for it for 6 s before others take them over. Not set: another one takes them over.',
    format: instanceId(),
    need: 'optional',
  },
  canaryUrl: {
    name: 'ALERT_CANARY_URL',
    about: 'The gateway into which events of the service `tailrace.canary` are posted, to see that every partition is read. Not set: none.',
    format: httpUrl(),
    need: 'optional',
  },
  canaryMs: {
    name: 'ALERT_CANARY_MS',
    about: 'How often each partition gets such an event.',
    format: milliseconds(1000, 600_000),
    need: { default: '5000' },
  },
  heartbeatUrl: {
    name: 'ALERT_HEARTBEAT_URL',
    about: 'A URL of a watchdog outside, asked as long as alerts can be trusted: it must tell somebody when that stops. Not set: none.',
    format: httpUrl(),
    need: 'optional',
    secret: true,
  },
} as const satisfies VariableTable;

export type AlertConfig = ConfigOf<typeof alertVariables>;

export const readAlertConfig = (): AlertConfig => loadConfig(alertVariables, process.env);

/** What rules mean depends on these two. Throws ConfigError. */
export const readRulesConfig = (environment: Environment): Pick<AlertConfig, 'paneMs' | 'latenessMs'> =>
  loadConfig({ paneMs: alertVariables.paneMs, latenessMs: alertVariables.latenessMs }, environment);

/** Of this process: the command line reads it, and secrets that `ALERT_NOTIFIERS` names stand in it. */
export const ownEnvironment: Environment = process.env;

/** Set by who wants generated pages written instead of compared. */
export const updateDocs = process.env.UPDATE_DOCS === '1';

/** How often the test of kills kills; CONTRIBUTING.md names its long form. */
export const testKills = Number(process.env.ALERT_TEST_KILLS ?? 5);
