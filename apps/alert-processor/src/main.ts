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
import { openPanes } from './panes/open-panes.ts';
import { warmUpHealth } from './panes/warm-up.ts';
import type { RuleSet } from './rules/rule.ts';

/** The stream that rules are about. */
const STREAM = 'service-events';
const GROUP = groupNamed('alert-processor');
const MAX_POLL_INTERVAL_MS = 60_000;
