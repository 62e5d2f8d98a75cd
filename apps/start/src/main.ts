import { TAILRACE } from '@tailrace/kafka-kit';
import { Failure } from '@tailrace/stack';
import type { RulesWord } from './alert-facts.ts';
import { isToldHere } from './alert-settings.ts';
import { AlertTotals } from './alert-totals.ts';
import { checkAlerts } from './check-alerts.ts';
import { ownEnvironment } from './config.ts';
import { EndpointsFile } from './endpoints-file.ts';
import type { GatewayCounts } from './gateway-counts.ts';
import {
  renderAlert,
  renderEnd,
  renderLine,
  renderNewAddresses,
  renderRejections,
  renderRulesNews,
  renderView,
  repeatedPosts,
  Screen,
  type ViewState,
} from './live-view.ts';
import { type OnceResult, waitForBacklog, waitForSinks } from './once.ts';
import { ONCE_SAMPLES, type StartOptions } from './options.mjs';
import { type Pipeline, SERVICE_NAMES, startPipeline } from './pipeline.ts';
import { Poster, pause, waitUntilReady } from './poster.ts';
import { type Progress, ProgressReader } from './progress.ts';
import { postFile, postSamples, postSteadily } from './traffic.ts';

/** What the script that starts this knows: when all has to stop, and when the person began to wait. */
export interface StartContext {
  readonly signal: AbortSignal;
  readonly startedAtMs: number;
}

const EXIT = { good: 0, differs: 1, stopped: 130 } as const;
const VIEW_MS = 1000;
const LINE_MS = 5000;
/** How long a look waits for its answers: what is late is shown as it was, so that a server that hangs never holds up the view. */
const DRAW_PATIENCE_MS = 250;
/** Long enough to say of a server that it does not answer. */
const LINE_PATIENCE_MS = 2000;
const END_PATIENCE_MS = 1000;

/** Runs the pipeline until it is stopped, or with `--once` until everything posted has arrived. Resolves with the exit code. */
export async function main(options: StartOptions, context: StartContext): Promise<number> {
  await checkAlerts(options, ownEnvironment, context.signal);
  const screen = new Screen(process.stderr);
  const pipeline = await startPipeline(options, context.signal, (line) => screen.print(line));
  const ended = new AbortController();
  const signal = AbortSignal.any([context.signal, ended.signal]);
  const run = new Run(options, pipeline, screen, context.startedAtMs, signal);
  let code: number;
  try {
    // Not after the question that is under way is answered: a server that does not answer must not hold up the stop.
    code = await Promise.race([run.go(), pipeline.broken, aborted(context.signal).then(() => EXIT.stopped)]);
  } finally {
    ended.abort();
    await run.tellEnd();
    screen.print('stopping');
    // Before anything that it names ends.
    run.removeEndpoints();
    await run.close();
    await pipeline.stop();
  }
  run.tellResult();
  return code;
}

class Run {
  readonly #options: StartOptions;
  readonly #pipeline: Pipeline;
  readonly #screen: Screen;
  readonly #startedAtMs: number;
  readonly #signal: AbortSignal;
  readonly #poster: Poster;
  readonly #reader: ProgressReader;
  readonly #endpointsFile: EndpointsFile | undefined;
  /** The addresses that were told where nothing can be drawn. */
  readonly #told = new Map<string, string>();
  /** Until when alerts were told where nothing can be drawn, and what was known of the rules. */
  #alertsToldMs = 0;
  #rules: RulesWord | undefined;
  #progress: Progress | undefined;
  #result: OnceResult | undefined;
  #taken: GatewayCounts = { accepted: 0, rejected: 0 };
  #rate = { accepted: 0, atMs: Date.now(), perSecond: 0 };

  constructor(options: StartOptions, pipeline: Pipeline, screen: Screen, startedAtMs: number, signal: AbortSignal) {
    this.#options = options;
    this.#pipeline = pipeline;
    this.#screen = screen;
    this.#startedAtMs = startedAtMs;
    this.#signal = signal;
    this.#poster = new Poster(() => pipeline.service('ingest-gateway').url('gateway'), signal);
    this.#reader = new ProgressReader(pipeline);
    this.#endpointsFile = options.endpointsFile === undefined ? undefined : new EndpointsFile(options.endpointsFile, pipeline);
  }

  async go(): Promise<number> {
    const gateway = await Promise.race([this.#pipeline.service('ingest-gateway').waitForUrl('gateway'), aborted(this.#signal)]);
    if (gateway === undefined) return EXIT.stopped;
    await waitUntilReady(() => this.#pipeline.service('ingest-gateway').url('gateway'), this.#signal);
    // Only now: a script that waits for the file may post at once, and looks up every service in it.
    if (this.#endpointsFile !== undefined) await Promise.race([this.#pipeline.whole, aborted(this.#signal)]);
    if (!this.#signal.aborted) this.#endpointsFile?.write();
    return this.#options.once ? this.#once() : this.#live();
  }

  /** Whether the servers may hold what was not posted since this start. */
  get #hasOlderTotals(): boolean {
    return this.#options.dataFolder !== undefined || this.#options.servers === 'given';
  }

  /** What had arrived stays in the terminal when the view goes, all of it asked at one time. `--once` has its own last line. */
  async tellEnd(): Promise<void> {
    if (this.#progress !== undefined) this.#screen.print(renderEnd(this.#view(await this.#look(END_PATIENCE_MS))));
  }

  /** The JSON of `--once`, when nothing else will be told any more: it is the last line also where both outputs go into one file. */
  tellResult(): void {
    if (this.#result !== undefined) process.stdout.write(`${JSON.stringify(this.#result)}\n`);
  }

  removeEndpoints(): void {
    this.#endpointsFile?.remove();
  }

  async close(): Promise<void> {
    await this.#reader.close();
  }

  async #once(): Promise<number> {
    if (this.#hasOlderTotals && !(await waitForBacklog(this.#reader, this.#signal)) && !this.#signal.aborted) {
      this.#screen.print('events of others are still on their way into OpenSearch and the lake: they are counted, too');
    }
    const before = { indexed: await this.#reader.counts.indexed(true), archived: await this.#reader.counts.archived() };
    const { inputFile } = this.#options;
    const posting =
      inputFile === undefined ? postSamples(ONCE_SAMPLES, this.#poster, this.#signal) : postFile(inputFile, this.#poster, this.#signal);
    void this.#tellFirst();
    await posting;
    if (this.#signal.aborted) return EXIT.stopped;
    const { counts } = this.#poster;
    this.#tellRejections();
    if (counts.posted === 0) throw new Failure(`The file ${inputFile} of --input holds no event: name another one.`, { exitCode: 2 });
    this.#screen.print(
      `posted ${counts.posted} events, ${counts.accepted} accepted; waiting for OpenSearch, the lake and the alert processor`,
    );
    const alerts = new AlertTotals(this.#pipeline, () => this.#reader.lagOf('alert-processor'));
    const result = await waitForSinks(counts, before, { sinks: this.#reader.counts, alerts }, this.#signal);
    if (this.#signal.aborted) return EXIT.stopped;
    if (counts.maybeTwice > 0) {
      this.#screen.print(repeatedPosts(counts));
    }
    if (!(await alerts.decided())) this.#screen.print('the alert processor has not decided upon all of it: alerts may be missing');
    this.#result = result;
    const arrived = result.accepted === result.indexed && result.accepted === result.archived;
    return arrived && result.rejected === 0 ? EXIT.good : EXIT.differs;
  }

  async #live(): Promise<number> {
    const { rate, inputFile } = this.#options;
    const posting =
      inputFile !== undefined ? postFile(inputFile, this.#poster, this.#signal) : postSteadily(rate, this.#poster, this.#signal);
    const { drawing } = this.#screen;
    void this.#tellFirst();
    const told = posting.then(
      () => this.#tellRejections(),
      // What runs goes on: only the file has ended too early.
      (fault: Error) => this.#screen.print(`the posting has ended: ${fault.message}`),
    );
    while (!this.#signal.aborted) {
      const begunMs = performance.now();
      this.#renewEndpoints();
      if (!drawing) this.#tellAddresses();
      if (!drawing) this.#tellAlerts();
      const progress = await this.#look(drawing ? DRAW_PATIENCE_MS : LINE_PATIENCE_MS);
      // The view must not come back when the end has been told.
      if (this.#signal.aborted) break;
      const view = this.#view(progress);
      if (!drawing) this.#tellRules(progress);
      if (drawing) this.#screen.draw(renderView(view));
      else this.#screen.print(renderLine(view));
      await pause((drawing ? VIEW_MS : LINE_MS) - (performance.now() - begunMs), this.#signal);
    }
    await told;
    return EXIT.stopped;
  }

  async #look(patienceMs: number): Promise<Progress> {
    this.#progress = await this.#reader.read(patienceMs);
    this.#taken = this.#takenBy(this.#progress);
    return this.#progress;
  }

  #tellAddresses(): void {
    for (const line of renderNewAddresses({ ...this.#urls(), ...this.#health() }, this.#told)) this.#screen.print(line);
  }

  #tellAlerts(): void {
    const news = this.#pipeline.alerts.told.filter(({ toldMs }) => toldMs > this.#alertsToldMs);
    for (const alert of news.toReversed()) this.#screen.print(`alert: ${renderAlert(alert)}`);
    this.#alertsToldMs = news[0]?.toldMs ?? this.#alertsToldMs;
  }

  #tellRules({ alerts: { facts } }: Progress): void {
    for (const line of renderRulesNews(this.#rules, facts?.rules)) this.#screen.print(line);
    this.#rules = facts?.rules ?? this.#rules;
  }

  /** A file that can not be written any more is no reason to end what runs. */
  #renewEndpoints(): void {
    try {
      this.#endpointsFile?.write();
    } catch (fault) {
      this.#screen.print((fault as Error).message);
    }
  }

  #tellRejections(): void {
    const { inputFile } = this.#options;
    if (inputFile === undefined) return;
    for (const line of renderRejections(inputFile, this.#poster.counts, this.#poster.rejections)) this.#screen.print(line);
  }

  async #tellFirst(): Promise<void> {
    while (this.#poster.firstAcceptedMs === undefined && !this.#signal.aborted) await pause(20, this.#signal);
    const { firstAcceptedMs } = this.#poster;
    if (firstAcceptedMs === undefined) return;
    this.#screen.print(`first event accepted ${((firstAcceptedMs - this.#startedAtMs) / 1000).toFixed(1)} s after the start`);
  }

  #view(progress: Progress): ViewState {
    const nowMs = Date.now();
    const { accepted } = this.#taken;
    const elapsedMs = nowMs - this.#rate.atMs;
    if (elapsedMs >= VIEW_MS) {
      this.#rate = { accepted, atMs: nowMs, perSecond: ((accepted - this.#rate.accepted) * 1000) / elapsedMs };
    }
    return {
      upSeconds: (nowMs - this.#startedAtMs) / 1000,
      dataFolder: this.#options.dataFolder,
      olderTotals: this.#hasOlderTotals,
      posted: this.#poster.counts,
      taken: this.#taken,
      progress,
      alerts: isToldHere(this.#pipeline.connections.environment) ? this.#pipeline.alerts : undefined,
      acceptedPerSecond: this.#rate.perSecond,
      urls: this.#urls(),
      health: this.#health(),
    };
  }

  /**
   * What the gateway has counted, but never less than what this start was answered (a body that is refused as a whole is no event to
   * the gateway, and what a gateway counted right before it was killed is gone), nor less than what was shown.
   */
  #takenBy({ gateway }: Progress): GatewayCounts {
    const { accepted, rejected } = this.#poster.counts;
    return {
      accepted: Math.max(gateway.counts.accepted, accepted, this.#taken.accepted),
      rejected: Math.max(gateway.counts.rejected, rejected, this.#taken.rejected),
    };
  }

  #urls(): Record<string, string | undefined> {
    const { endpoints } = this.#pipeline.stack;
    const { endpointsFile } = this.#options;
    const key = endpointsFile === undefined ? 'start with --endpoints FILE to have it' : `in ${endpointsFile}, at s3`;
    const events = this.#pipeline.service('ingest-gateway').url('gateway');
    return {
      post: events === undefined ? undefined : `${events}/v1/events`,
      search: `${endpoints.opensearchUrl}/service-events/_search?size=1`,
      kafka: endpoints.kafkaBootstrapServers,
      s3: `${endpoints.s3.endpointUrl}/${endpoints.s3.bucket}  (asks for a key: ${key})`,
      logs: `${this.#pipeline.stack.folder}/logs`,
      rules: `${this.#pipeline.rules}  (a change there is taken over)`,
      command:
        endpointsFile === undefined
          ? `${TAILRACE} alerts ls  (asks where: start with --endpoints FILE)`
          : `${TAILRACE} --endpoints ${endpointsFile} alerts ls`,
    };
  }

  #health(): Record<string, string | undefined> {
    return Object.fromEntries(SERVICE_NAMES.map((name) => [name, this.#pipeline.started(name)?.url('health')]));
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
