import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AlertReceiver } from './alert-receiver.ts';
import type { StartOptions } from './options.mjs';

const RULES = fileURLToPath(new URL('../../../examples/rules/default.yaml', import.meta.url));

export interface AlertPlace {
  readonly folder: string;
  readonly gatewayUrl: string | undefined;
  readonly alerts: Pick<AlertReceiver, 'url'>;
  readonly options: Pick<StartOptions, 'once' | 'servers'>;
}

/** What the alert processor is told where the environment does not say it: the rules that are shipped, and this process as who is told. */
export function alertDefaults({ folder, gatewayUrl, alerts, options: { once, servers } }: AlertPlace): Readonly<Record<string, string>> {
  const notifiers = join(folder, 'alert-notifiers.yaml');
  writeFileSync(notifiers, notifiersFile(alerts.url));
  // Canaries are for what goes on; and into given servers nothing is posted that nobody asked for.
  const canaries = !once && servers === 'own' && gatewayUrl !== undefined ? { ALERT_CANARY_URL: gatewayUrl } : {};
  return { ALERT_RULES: RULES, ALERT_NOTIFIERS: notifiers, ...canaries };
}

function notifiersFile(url: string): string {
  return `# The live view of npm start, which is told of every alert.
notifiers:
  - name: live-view
    kind: webhook
    url: ${url}
    allow_private: true
`;
}
