import { windowTimes } from '@tailrace/lake';
import { ConfigError, type Environment } from '@tailrace/service';
import { readRulesConfig } from '../config.ts';
import { reachOf } from '../panes/check-reach.ts';
import { readRuleFiles } from '../rules/read-rules.ts';
import { problemLine } from '../rules/reading.ts';
import type { RuleSet } from '../rules/rule.ts';
import { readRulesAt } from '../rules/rule-files.ts';
import { backtest } from '../simulate/backtest.ts';
import { Firings } from '../simulate/firings.ts';
import { backtestJson, backtestLines } from './backtest-lines.ts';
import { withWindow } from './backtest-reading.ts';
import { EXIT, type Ports } from './ports.ts';
import { readingProgress } from './reading-progress.ts';

export interface BacktestFlags {
  /** Where it is not said, ALERT_RULES says it. */
  readonly rules?: string;
  readonly from: string;
  readonly to: string;
  readonly rule?: string;
  readonly json?: boolean;
}

/** Where the rules are. @throws ConfigError */
export function backtestRules({ rules }: BacktestFlags, { ALERT_RULES = '' }: Environment): string {
  if (rules === undefined && ALERT_RULES === '')
    throw new ConfigError(['Say which rules: --rules PATH, or ALERT_RULES, or the endpoints file of a start whose rules are meant.']);
  return rules ?? ALERT_RULES;
}

/** What can be said of the command line alone. Throws ConfigError. */
export function backtestTimes({ from, to }: BacktestFlags, nowMs: number): { readonly fromMs: number; readonly toMs: number } {
  const times = windowTimes(from, to, nowMs);
  if ('problem' in times) throw new ConfigError([times.problem]);
  return times;
}

/**
 * `tailrace rules backtest`: how often, when and for whom rules would have fired. Resolves with 1 where records of the window are in neither the
 * lake nor Kafka and nobody has declared them lost: the answer may be wrong then.
 */
export async function backtestCommand(flags: BacktestFlags, ports: Ports, topics: readonly string[]): Promise<number> {
  const { fromMs, toMs } = backtestTimes(flags, ports.nowMs());
  const rules = await rulesFor(flags, ports);
  const readFromMs = fromMs - rules.reachMs - rules.latenessMs - 2 * rules.paneMs;
  const firings = new Firings(
    rules.rules.map(({ name }) => name),
    fromMs,
  );
  const reading = await withWindow({ fromMs: readFromMs, toMs }, topics, ports, async ({ partitions, offsets }) => {
    const progress = readingProgress(ports, offsets);
    try {
      return await backtest({
        rules,
        readFromMs,
        toMs,
        partitions,
        onTold: (told) => firings.take(told),
        onRead: (more) => progress.add(more),
        signal: ports.signal,
      });
    } finally {
      progress.stop();
    }
  });
  const result = { fromMs, toMs, readFromMs, reading, rules: firings.close(toMs) };
  ports.out(flags.json === true ? `${JSON.stringify(backtestJson(result))}\n` : `${backtestLines(result).join('\n')}\n`);
  return reading.unreadable.some(({ kind }) => kind === 'hole') ? EXIT.finding : EXIT.good;
}

async function rulesFor(flags: BacktestFlags, ports: Ports): Promise<RuleSet> {
  const { rule: only } = flags;
  const path = backtestRules(flags, ports.environment);
  const found = await readRulesAt(path);
  if ('problem' in found) throw new ConfigError([found.problem]);
  const read = readRuleFiles(found.files, readRulesConfig(ports.environment));
  if ('problems' in read) throw new ConfigError(read.problems.map(problemLine));
  const chosen = read.rules.rules.filter(({ name }) => only === undefined || name === only);
  if (chosen.length === 0)
    throw new ConfigError([
      only === undefined
        ? `There are no rules in ${path}.`
        : `There is no rule ${only} in ${path}: it has ${read.rules.rules.map(({ name }) => name).join(', ') || 'none'}.`,
    ]);
  return { ...read.rules, rules: chosen, reachMs: Math.max(...chosen.map(reachOf)) };
}
