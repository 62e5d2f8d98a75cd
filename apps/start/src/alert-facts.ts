/** What the alert processor itself says of alerts and rules. */
export interface AlertFacts {
  /** Alerts that fire now, silenced ones among them. */
  readonly firing: number;
  /** Notifications that are not through yet. */
  readonly waiting: number;
  /** Notifications that this process of it has given up, or whose receiver refused them. */
  readonly untold: number;
  /** Undefined until it has read them. */
  readonly rules: RulesWord | undefined;
}

/** What becomes of the rules as they stand in the folder, in one sentence. */
export interface RulesWord {
  readonly refused: boolean;
  readonly sentence: string;
}

const LOOK_TIMEOUT_MS = 2000;

/** Asks the alert processor at the address of its health. Rejects while it does not answer. */
export async function readAlertFacts(url: string | undefined): Promise<AlertFacts> {
  if (url === undefined) throw new Error('the alert-processor is not started');
  const [metrics = '', readyz = ''] = await Promise.all(['/metrics', '/readyz'].map((path) => textAt(url + path)));
  return factsIn(metrics, readyz);
}

async function textAt(url: string): Promise<string> {
  // A /readyz of 503 says what is wrong, too.
  return await (await fetch(url, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) })).text();
}

/** Out of Prometheus text and the JSON of `/readyz`. @throws Error where they are none of the alert processor's */
export function factsIn(metrics: string, readyz: string): AlertFacts {
  const firing = sumOf(metrics, 'tailrace_alert_firing', '');
  if (firing === undefined) throw new Error('the metrics do not say how many alerts fire');
  return {
    firing,
    waiting: sumOf(metrics, 'tailrace_alert_waiting_notifications', '') ?? 0,
    untold: sumOf(metrics, 'tailrace_alert_sends_total', 'outcome="(?:refused|given-up)"') ?? 0,
    rules: rulesWordIn(readyz),
  };
}

/** Over all label sets that hold this label; undefined where there is no sample. */
function sumOf(metrics: string, name: string, label: string): number | undefined {
  const labels = label === '' ? '(?:\\{[^}]*\\})?' : `\\{[^}]*${label}[^}]*\\}`;
  const values = [...metrics.matchAll(new RegExp(`^${name}${labels} (\\S+)$`, 'gm'))].map(([, value]) => Number(value));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function rulesWordIn(readyz: string): RulesWord | undefined {
  const { checks } = JSON.parse(readyz) as { readonly checks?: readonly { name?: unknown; state?: unknown; sentence?: unknown }[] };
  const rules = checks?.find(({ name }) => name === 'rules');
  return typeof rules?.sentence === 'string' ? { refused: rules.state !== 'ok', sentence: rules.sentence } : undefined;
}
