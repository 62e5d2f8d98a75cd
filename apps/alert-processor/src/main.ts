import { systemClock } from '@tailrace/kafka-kit';
import { runAlertProcessor } from './alert-processor.ts';

await runAlertProcessor(systemClock.nowMs);
