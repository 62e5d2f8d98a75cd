import { systemClock } from '@tailrace/kafka-kit';
import { createLogger } from '@tailrace/service';
import { type OpenPanesOptions, openPanes } from '../panes/open-panes.ts';
import { plainRule, ruleSet } from './plain-rules.ts';

/** What a member is told on its command line, as JSON. */
export interface PanesProcessOptions extends Pick<OpenPanesOptions, 'kafka' | 'group' | 'topics' | 'partialsTopic' | 'tickMs'> {
  readonly paneMs: number;
  readonly latenessMs: number;
}

/** Stage 1 as a process of its own, to be killed. */
const { paneMs, latenessMs, ...options } = JSON.parse(process.argv[2] ?? '{}') as PanesProcessOptions;
const panes = await openPanes({
  ...options,
  rules: { current: ruleSet([plainRule()], { paneMs, latenessMs }), onChange: () => {} },
  stopMs: 10_000,
  maxPollIntervalMs: 60_000,
  nowMs: systemClock.nowMs,
  log: createLogger({ name: 'panes-process', level: 'warn' }),
  signal: new AbortController().signal,
  observe(event) {
    if (event.kind === 'lane-opened') process.stdout.write(`reads ${event.lane.partition}\n`);
  },
  onRetry: () => {},
  onPublished: () => {},
});
process.once('SIGTERM', () => void panes.close(10_000).then(() => process.exit(0)));
// Whoever started it may be killed, too.
process.stdin.on('end', () => process.exit(1)).resume();
for (;;) await systemClock.sleep(60_000);
