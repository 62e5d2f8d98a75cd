import { randomInt } from 'node:crypto';

/** What the person who runs the scenarios may choose. */
export interface ScenarioConfig {
  /** Only what shows within three minutes that the whole works. */
  readonly short: boolean;
  /** Decides when and in which order faults happen. Printed, so that a run can be repeated. */
  readonly seed: number;
  /** For how long a server is away in server-outages. */
  readonly heldMs: number;
}

export const scenarioConfig: ScenarioConfig = {
  short: process.env.E2E_SHORT === '1',
  seed: process.env.E2E_SEED === undefined ? randomInt(1, 1_000_000) : Number(process.env.E2E_SEED),
  // By default longer than the gateway lets a post wait (10 s).
  heldMs: Number(process.env.E2E_HELD_SECONDS ?? 20) * 1000,
};

/** Settings of some other stack, and npm's own words (a starter that sees npm's watches that npm): not for a command that is tried here. */
const NOT_PASSED_ON = /^(npm_|KAFKA_|OPENSEARCH_|AWS_|GATEWAY_|INDEX_|ARCHIVER_|HEALTH_|VITEST|TAILRACE_(?!JAVA$|OPENSEARCH$))/;

/** The environment for a command that is tried, with `more` over it. Undefined takes a variable away. */
export function environmentWith(more: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const passed = Object.entries(process.env).filter(([name]) => !NOT_PASSED_ON.test(name) && name !== 'NODE_ENV');
  const all = { ...Object.fromEntries(passed), AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', ...more };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
