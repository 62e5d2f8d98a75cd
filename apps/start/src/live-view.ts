import { printable } from '@tailrace/service';
import type { AlertFacts, RulesWord } from './alert-facts.ts';
import type { ToldAlert } from './alert-receiver.ts';
import type { Figure } from './figure.ts';
import type { GatewayCounts } from './gateway-counts.ts';
import type { PostCounts, Rejection } from './poster.ts';
import type { Progress } from './progress.ts';

export interface ViewState {
  readonly upSeconds: number;
  /** The folder that keeps the data; undefined where nothing is kept. */
  readonly dataFolder: string | undefined;
  /** Whether the sinks may hold what an earlier start brought. */
  readonly olderTotals: boolean;
  /** What this start has posted itself. */
  readonly posted: PostCounts;
  /** What the gateway took from whomever, since this start. */
  readonly taken: GatewayCounts;
  readonly progress: Progress;
  /** What was told here since this start; undefined where ALERT_NOTIFIERS names whom to tell: this view is not told then. */
  readonly alerts: { readonly fired: number; readonly told: readonly ToldAlert[] } | undefined;
  readonly acceptedPerSecond: number;
  readonly urls: Readonly<Record<string, string | undefined>>;
  /** The services' own addresses, for `/livez`, `/readyz` and `/metrics`. */
  readonly health: Readonly<Record<string, string | undefined>>;
}

/** So many of the latest alerts are shown. */
const SHOWN_ALERTS = 3;
const NUMBER = new Intl.NumberFormat('en-US');
/** So many the alert processor holds for one channel, and counts no further. */
const HELD = 1000;

/** The live view as lines. */
export function renderView(view: ViewState): string[] {
  const { upSeconds, dataFolder, olderTotals, posted, taken, progress, acceptedPerSecond, urls, health } = view;
  const { facts } = progress.alerts;
  const sinceStart = olderTotals ? ' since this start,' : '';
  const older = olderTotals ? ', earlier ones included' : '';
  const lag = [...progress.lag].map(([group, figure]) => `${group} ${shown(figure)}`).join(' · ');
  const lines = [
    `tailrace  up ${duration(upSeconds)}   ${dataFolder === undefined ? 'Ctrl-C stops and removes everything' : `Ctrl-C stops everything; the data stay in ${dataFolder}`}`,
    '',
    `  accepted   ${NUMBER.format(taken.accepted).padStart(12)}  ${sinceStart} ${NUMBER.format(Math.round(acceptedPerSecond))} a second${rejected(taken)}${silence(progress.gateway)}`,
    `  indexed    ${known(progress.indexed).padStart(12)}   in OpenSearch${older}${silence(progress.indexed)}`,
    `  archived   ${known(progress.archived).padStart(12)}   in Parquet on S3${older}${silence(progress.archived)}`,
    ...alertLines(view),
    `  lag          ${lag} (records)`,
    '',
    ...Object.entries(urls).flatMap(([name, url]) => [
      `  ${name.padEnd(11)}${url ?? 'starting'}`,
      ...(name === 'rules' && facts?.rules !== undefined ? [`${' '.repeat(13)}${renderRules(facts.rules)}`] : []),
    ]),
    ...Object.entries(health).map(([name, url], i) => {
      return `  ${(i === 0 ? 'health' : '').padEnd(11)}${url ?? 'starting'}  ${name}${i === 0 ? ': /livez /readyz /metrics' : ''}`;
    }),
  ];
  if (posted.repeatedPosts > 0) {
    lines.push('', `  ${repeatedPosts(posted)}`);
  }
  return lines;
}

/** One line for a log or a pipe, where nothing can be drawn over. */
export function renderLine(view: ViewState): string {
  const { upSeconds, progress } = view;
  const lag = [...progress.lag].map(([group, figure]) => `${group} ${shown(figure)}`).join(', ');
  return `${duration(upSeconds)}  ${totals(view)}, lag: ${lag}`;
}

function alertLines({ alerts, progress }: ViewState): readonly string[] {
  if (alerts === undefined) {
    const { facts, silentSeconds } = progress.alerts;
    const firing = known({ value: facts?.firing, silentSeconds });
    return [
      `  alerts     ${firing.padStart(12)}   firing now${undelivered(facts)}${silence({ silentSeconds })}; ALERT_NOTIFIERS is told, the command below lists them`,
    ];
  }
  const { fired, told } = alerts;
  return [
    `  alerts     ${NUMBER.format(fired).padStart(12)}   ${told.length === 0 ? 'none told yet' : 'told since this start; the latest:'}`,
    ...told.slice(0, SHOWN_ALERTS).map((alert) => `    ${renderAlert(alert)}`),
  ];
}

/** What of notifications did not get through, where any did not. */
function undelivered(facts: AlertFacts | undefined): string {
  const { waiting = 0, untold = 0 } = facts ?? {};
  const parts = [
    ...(waiting > 0
      ? [`${waiting < HELD ? '' : 'at least '}${NUMBER.format(waiting)} ${waiting === 1 ? 'notification waits' : 'notifications wait'}`]
      : []),
    ...(untold > 0 ? [`${NUMBER.format(untold)} refused or given up`] : []),
  ];
  return parts.map((part) => `, ${part}`).join('');
}

/** What becomes of the rules as they stand in the folder. Times of it are shown as the others of the view are. */
export function renderRules({ refused, sentence }: RulesWord): string {
  const short = printable(sentence).replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (instant) => clock(Date.parse(instant)));
  return `${refused ? 'REFUSED: ' : ''}${short}`;
}

/**
 * What there is to say of the rules where nothing can be drawn over: when they are refused, when that is over, and when a change was taken over.
 * `before`: what was known of them at the last look.
 */
export function renderRulesNews(before: RulesWord | undefined, now: RulesWord | undefined): readonly string[] {
  if (now === undefined || now.sentence === before?.sentence) return [];
  if (now.refused) return [`rules: ${renderRules(now)}`];
  return before === undefined ? [] : [`rules: ${before.refused ? 'no longer refused: ' : ''}${renderRules(now)}`];
}

function clock(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

/** One notification in one line: what, about whom, and how long it took from the broker's time of the newest event in it. */
export function renderAlert({ status, again, severity, rule, group, toldMs, delayMs, summary }: ToldAlert): string {
  const whom = Object.entries(group).map(([name, value]) => `${name}=${value ?? 'none'}`);
  const took =
    delayMs === undefined || status === 'resolved' ? '' : `, told ${(delayMs / 1000).toFixed(1)} s after the broker had its last event`;
  const what = status === 'resolved' ? 'resolved' : again ? `again ${severity}` : severity;
  return `${clock(toldMs)} ${what} ${[rule, ...whom].map(printable).join(' ')}: ${printable(summary)}${took}`;
}

/** Each address once it is known, and again when it is another one. `told` keeps what was told. */
export function renderNewAddresses(addresses: Readonly<Record<string, string | undefined>>, told: Map<string, string>): string[] {
  return Object.entries(addresses).flatMap(([name, url]) => {
    if (url === undefined || told.get(name) === url) return [];
    told.set(name, url);
    return [`${name}: ${url}`];
  });
}

/** What stays in the terminal when the view has ended: it is what was last seen, since the servers end now. */
export function renderEnd(view: ViewState): string {
  return `ran ${duration(view.upSeconds)}; last seen: ${totals(view)}`;
}

/** Rejected lines, by their place in the file, and how many are not listed. */
export function renderRejections(file: string, { rejected: count }: PostCounts, named: readonly Rejection[]): string[] {
  if (count === 0) return [];
  const left = count - named.length;
  return [
    `${NUMBER.format(count)} ${count === 1 ? 'event' : 'events'} of ${file} ${count === 1 ? 'was' : 'were'} rejected:`,
    ...named.map(({ line, reason }) => `  line ${line}: ${reason}`),
    ...(left > 0 ? [`  and ${NUMBER.format(left)} more`] : []),
  ];
}

/** What is written to: a terminal has a size, a pipe or a file has none. */
export interface Paper {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** Draws over its own last picture; other lines go above it. */
export class Screen {
  readonly #paper: Paper;
  /** Rows of the terminal that the last picture takes: a long line takes several. */
  #drawn = 0;

  constructor(paper: Paper) {
    this.#paper = paper;
  }

  get drawing(): boolean {
    return this.#paper.isTTY === true;
  }

  draw(lines: readonly string[]): void {
    const erase = this.#erase();
    const columns = this.#paper.columns || Number.POSITIVE_INFINITY;
    // What has scrolled out of a small terminal can not be drawn over again.
    let left = (this.#paper.rows || Number.POSITIVE_INFINITY) - 1;
    const fitting = lines.filter((line) => {
      left -= Math.max(1, Math.ceil(line.length / columns));
      return left >= 0;
    });
    this.#paper.write(`${erase}${fitting.map((line) => `${line}\n`).join('')}`);
    this.#drawn = fitting.reduce((rows, line) => rows + Math.max(1, Math.ceil(line.length / columns)), 0);
  }

  print(line: string): void {
    this.#paper.write(`${this.#erase()}${line}\n`);
    this.#drawn = 0;
  }

  #erase(): string {
    if (!this.drawing) return '';
    // To the first column first: a terminal shows ^C where the cursor stands, and what stood above it would stay.
    return this.#drawn === 0 ? '\r\u001b[K' : `\r\u001b[${this.#drawn}A\u001b[J`;
  }
}

function known({ value }: Figure): string {
  return value === undefined ? '-' : NUMBER.format(value);
}

function silence({ silentSeconds }: Pick<Figure, 'silentSeconds'>): string {
  return silentSeconds === 0 ? '' : `, no answer for ${duration(silentSeconds)}`;
}

/** A figure between others: the last one that is known, and for how long it may be old. */
function shown({ value, silentSeconds }: Figure): string {
  if (silentSeconds === 0) return value === undefined ? 'not known yet' : NUMBER.format(value);
  const silent = `no answer for ${duration(silentSeconds)}`;
  return value === undefined ? silent : `${NUMBER.format(value)} (${silent})`;
}

function totals(view: ViewState): string {
  const { taken, progress, olderTotals } = view;
  const [since, older] = olderTotals ? [' since this start', ' in all'] : ['', ''];
  const accepted = shown({ value: taken.accepted, silentSeconds: progress.gateway.silentSeconds });
  return `accepted ${accepted}${since}${rejected(taken)}, indexed ${shown(progress.indexed)}${older}, archived ${shown(progress.archived)}${older}${alertTotals(view)}`;
}

function alertTotals({ alerts, progress }: ViewState): string {
  if (alerts !== undefined) return alerts.fired === 0 ? '' : `, alerts ${NUMBER.format(alerts.fired)}`;
  const { facts, silentSeconds } = progress.alerts;
  return `, alerts firing ${shown({ value: facts?.firing, silentSeconds })}${undelivered(facts)}`;
}

function rejected({ rejected: count }: GatewayCounts): string {
  return count === 0 ? '' : `, ${NUMBER.format(count)} rejected`;
}

function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes === 0 ? `${whole} s` : `${minutes} min ${whole % 60} s`;
}

/** Said where a post had no answer and was sent again. */
export function repeatedPosts({
  repeatedPosts: posts,
  maybeTwice: events,
}: Pick<ViewState['posted'], 'repeatedPosts' | 'maybeTwice'>): string {
  const what = `${NUMBER.format(posts)} ${posts === 1 ? 'post was' : 'posts were'} repeated`;
  return `${what}; ${NUMBER.format(events)} ${events === 1 ? 'event' : 'events'} of ${posts === 1 ? 'it' : 'them'} may be kept twice`;
}
