import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AlertReceiver } from './alert-receiver.ts';
import type { Environment } from './config.ts';
import type { StartOptions } from './options.mjs';

/** What a start begins with that is given no rules. */
export const SHIPPED_RULES = fileURLToPath(new URL('../../../examples/rules/default.yaml', import.meta.url));

/** Where malloc makes an arena for each of the Kafka client's threads, what they let go of stays in it: 60 to 80 MiB more (decision 27). */
const FEW_ARENAS = { MALLOC_ARENA_MAX: '2' };

export interface AlertPlace {
  readonly folder: string;
  readonly environment: Environment;
  readonly gatewayUrl: string | undefined;
  readonly alerts: Pick<AlertReceiver, 'url'>;
  readonly options: Pick<StartOptions, 'once' | 'servers'>;
}

/** Where the rules stand that hold: what the environment names, or a folder of this start, into which people put their own. */
export function rulesPath(folder: string, { ALERT_RULES }: Environment): string {
  return isSet(ALERT_RULES) ? resolve(ALERT_RULES) : join(folder, 'rules');
}

/** Whether this process is told of alerts: only where the environment names nobody else. */
export function isToldHere({ ALERT_NOTIFIERS }: Environment): boolean {
  return !isSet(ALERT_NOTIFIERS);
}

/** An empty variable is one that is not set, as for the services. */
function isSet(variable: string | undefined): variable is string {
  return variable !== undefined && variable !== '';
}

/** What the alert processor is told where the environment does not say it (of rules, their whole path): rules, and this process as who is told. */
export function alertDefaults({
  folder,
  environment,
  gatewayUrl,
  alerts,
  options: { once, servers },
}: AlertPlace): Readonly<Record<string, string>> {
  const rules = rulesPath(folder, environment);
  if (!isSet(environment.ALERT_RULES)) placeRules(rules);
  const notifiers = join(folder, 'alert-notifiers.yaml');
  const isHere = isToldHere(environment);
  if (isHere) writeFileSync(notifiers, notifiersFile(alerts.url));
  // Canaries are for what goes on; and into given servers nothing is posted that nobody asked for.
  const hasCanaries = !once && servers === 'own' && !isSet(environment.ALERT_CANARY_URL);
  const canaries = hasCanaries && gatewayUrl !== undefined ? { ALERT_CANARY_URL: gatewayUrl } : {};
  const arenas = isSet(environment.MALLOC_ARENA_MAX) ? {} : FEW_ARENAS;
  // Started again after it died, it has its partitions at once. Given servers may have more than one start.
  const instance = servers === 'own' && !isSet(environment.KAFKA_GROUP_INSTANCE_ID) ? { KAFKA_GROUP_INSTANCE_ID: 'npm-start' } : {};
  return { ALERT_RULES: rules, ...arenas, ...instance, ...(isHere ? { ALERT_NOTIFIERS: notifiers } : {}), ...canaries };
}

/** Puts the rules that are shipped into a folder without any; what an earlier start and people have left there (`--data`) stays. */
function placeRules(folder: string): void {
  mkdirSync(folder, { recursive: true });
  if (hasRules(folder)) return;
  // Whole or not at all, also under a kill: half of a file is no rules. What is hidden is not read.
  const partial = join(folder, '.default.yaml.partial');
  writeFileSync(partial, readFileSync(SHIPPED_RULES));
  renameSync(partial, join(folder, 'default.yaml'));
}

function hasRules(folder: string): boolean {
  return readdirSync(folder).some((name) => /^[^.].*\.ya?ml$/.test(name));
}

/** The rules that an earlier start and people have left in the folder of `--data`. */
export function keptRules(dataFolder: string): string | undefined {
  const rules = rulesPath(dataFolder, {});
  return existsSync(rules) && hasRules(rules) ? rules : undefined;
}

export function notifiersFile(url: string): string {
  return `# The live view of npm start, which is told of every alert.
notifiers:
  - name: live-view
    kind: webhook
    url: ${url}
    allow_private: true
`;
}
