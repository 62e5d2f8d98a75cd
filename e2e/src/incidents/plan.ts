import { type SeededRandom, seededRandom } from '@tailrace/events';

const MINUTE_MS = 60_000;

/** What goes wrong with one service for a while. */
export type IncidentKind = 'failing' | 'slow' | 'silent' | 'surge' | 'scan' | 'heavy';

/** How soon a rule must tell of an incident's start, and of its end: by the clock of the events. */
export interface Expected {
  readonly rule: string;
  readonly firesWithinMs: number;
  readonly resolvesWithinMs: number;
}

/** The rules that tell of each kind, as `rulesText` has them. Of the end: the window, the lateness and a pane must be over. */
const EXPECTED: Readonly<Record<IncidentKind, readonly Expected[]>> = {
  failing: [
    { rule: 'errors', firesWithinMs: 45_000, resolvesWithinMs: 160_000 },
    { rule: 'error-ratio', firesWithinMs: 75_000, resolvesWithinMs: 210_000 },
  ],
  slow: [{ rule: 'slow', firesWithinMs: 120_000, resolvesWithinMs: 160_000 }],
  silent: [{ rule: 'silent', firesWithinMs: 160_000, resolvesWithinMs: 160_000 }],
  surge: [{ rule: 'surge', firesWithinMs: 75_000, resolvesWithinMs: 160_000 }],
  scan: [{ rule: 'scan', firesWithinMs: 75_000, resolvesWithinMs: 160_000 }],
  heavy: [
    { rule: 'heavy-mean', firesWithinMs: 75_000, resolvesWithinMs: 160_000 },
    { rule: 'heavy-sum', firesWithinMs: 75_000, resolvesWithinMs: 160_000 },
  ],
};

export interface Incident {
  readonly kind: IncidentKind;
  readonly service: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly expected: readonly Expected[];
}

/** Traffic of many services with what happens to some of them. Each service meets at most one incident, so that none hides another. */
export interface IncidentPlan {
  readonly seed: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly services: readonly string[];
  readonly incidents: readonly Incident[];
}

const KINDS = Object.keys(EXPECTED) as IncidentKind[];
/** Without incidents at first: windows fill, and what is compared with five minutes ago has something to be compared with. */
const QUIET_MS = 7 * MINUTE_MS;
/** Traffic goes on for at least so long behind the last one. */
const TAIL_MS = MINUTE_MS;
const LENGTH_MS = { least: 2 * MINUTE_MS, most: 4 * MINUTE_MS };
const SOUND_SERVICES = 2;

/** The same seed gives the same incidents and the same events, `startMs` apart. */
export function planIncidents(options: {
  readonly seed: number;
  readonly startMs: number;
  readonly minutes: number;
  readonly ofEachKind: number;
}): IncidentPlan {
  const { seed, startMs, minutes, ofEachKind } = options;
  const random = seededRandom(seed);
  const endMs = startMs + minutes * MINUTE_MS;
  const incidents = KINDS.flatMap((kind) => Array.from({ length: ofEachKind }, () => kind)).map((kind, i): Incident => {
    const lengthMs = between(random, LENGTH_MS.least, LENGTH_MS.most);
    const beginMs = startMs + between(random, QUIET_MS, minutes * MINUTE_MS - TAIL_MS - lengthMs);
    return { kind, service: serviceName(i), startMs: beginMs, endMs: beginMs + lengthMs, expected: EXPECTED[kind] };
  });
  const services = Array.from({ length: incidents.length + SOUND_SERVICES }, (_, i) => serviceName(i));
  return { seed, startMs, endMs, services, incidents };
}

function serviceName(i: number): string {
  return `service-${String(i + 1).padStart(2, '0')}`;
}

/** Of each kind that needs no traffic of before one, all at once, and a sound service: ten minutes that two runs can be compared by. */
export function briefIncidents({
  seed,
  startMs,
  name,
}: {
  readonly seed: number;
  readonly startMs: number;
  readonly name: string;
}): IncidentPlan {
  const kinds = KINDS.filter((kind) => kind !== 'surge');
  const services = [...kinds, 'sound'].map((each) => `${name}-${each}`);
  const [beginMs, endMs] = [startMs + 2 * MINUTE_MS, startMs + 4 * MINUTE_MS];
  const incidents = kinds.map((kind) => ({
    kind,
    service: `${name}-${kind}`,
    startMs: beginMs,
    endMs,
    expected: EXPECTED[kind],
  }));
  return { seed, startMs, endMs: endMs + TAIL_MS, services, incidents };
}

/** Whole seconds: a start in the middle of one says nothing more. */
function between(random: SeededRandom, least: number, most: number): number {
  if (most < least) throw new RangeError('the plan is too short for its incidents');
  return Math.round((least + random.next() * (most - least)) / 1000) * 1000;
}

const response = '{do: "Look at the service.", do_not: "Do not restart Kafka."}';

/** The rules that are to find them. Normal traffic stays far from every threshold. */
export function rulesText({ services }: Pick<IncidentPlan, 'services'>): string {
  const rule = (name: string, lines: string): string =>
    `  - name: ${name}\n    summary: "{service}: ${name}"\n    group_by: [service]\n${lines}    severity: critical\n    response: ${response}\n`;
  const all = services.map((name) => JSON.stringify(name)).join(', ');
  return `rules:
${rule('errors', '    where: status_code >= 500\n    measure: count\n    window: 1m\n    condition: "> 30"\n')}${rule(
  'error-ratio',
  '    measure: {ratio: {of: status_code >= 500}}\n    window: {tumbling: 1m}\n    condition: "> 0.15"\n    min_count: 60\n',
)}${rule('slow', '    measure: {percentile: {field: latency_ms, p: 95}}\n    window: 1m\n    condition: "> 1000"\n    for: 1m\n    min_count: 60\n')}${rule(
  'silent',
  `    where: service in (${all})\n    measure: absence\n    window: 1m\n    remember: 1h\n`,
)}${rule('surge', '    where: region = "eu-west-1"\n    measure: {rate: {against: 5m}}\n    window: 1m\n    condition: "> 10"\n')}${rule(
  'scan',
  '    measure: {distinct: {field: customer_id, limit: 1000}}\n    window: 1m\n    condition: "> 120"\n',
)}${rule('heavy-mean', '    measure: {mean: bytes}\n    window: 1m\n    condition: ">= 40000"\n    min_count: 60\n')}${rule(
  'heavy-sum',
  '    measure: {sum: bytes}\n    window: 1m\n    condition: "> 10000000"\n',
)}`;
}
