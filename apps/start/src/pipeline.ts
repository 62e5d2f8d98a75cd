import { join } from 'node:path';
import { SERVICE_EVENTS_TOPIC, streams, type TopicProfile, topicsFor } from '@tailrace/events';
import { commitGroupOffsets, connectAdmin, partitionKey, planTopics, type TopicPartition } from '@tailrace/kafka-kit';
import { Failure, type ServerName, type Stack, type StackPlace, startStack, useGivenServers } from '@tailrace/stack';
import { AlertReceiver } from './alert-receiver.ts';
import { alertDefaults, rulesPath } from './alert-settings.ts';
import { type Connections, connectionsTo } from './config.ts';
import type { StartOptions } from './options.mjs';
import { ServiceProcess, type ServiceProcessOptions } from './service-process.ts';

export type ServiceName = ServiceProcessOptions['name'];

/** A server, or the gateway, whose address another service is told. */
type Part = ServerName | 'gateway';

interface ServiceRow {
  readonly name: ServiceName;
  /** What must answer before it can start. */
  readonly needs: readonly Part[];
  /** What it is told on top of the endpoints. */
  readonly settings?: (folder: string) => Readonly<Record<string, string>>;
  readonly keepsPort?: { readonly server: string; readonly variable: string };
}

const ALERT_PROCESSOR = 'alert-processor';

const SERVICES: readonly ServiceRow[] = [
  {
    name: 'ingest-gateway',
    needs: ['kafka'],
    settings: () => ({ GATEWAY_PORT: '0' }),
    keepsPort: { server: 'gateway', variable: 'GATEWAY_PORT' },
  },
  { name: 'indexer', needs: ['kafka', 'opensearch'], settings: () => ({ INDEX_REPLICAS: '0' }) },
  {
    name: 'archiver',
    needs: ['kafka', 's3proxy'],
    // The sample is small, and people watch: objects are closed after 2 s without a record instead of 60, and after 10 s of records.
    settings: (folder) => ({
      ARCHIVER_IDLE_MS: '2000',
      ARCHIVER_MAX_RECORD_TIME_MS: '10000',
      ARCHIVER_DATA_DIR: join(folder, 'archiver'),
    }),
  },
  { name: ALERT_PROCESSOR, needs: ['kafka', 'gateway'] },
];

/** In the order in which an event meets them. */
export const SERVICE_NAMES: readonly ServiceName[] = SERVICES.map(({ name }) => name);

/** Where the lake lies in its bucket: the services' default. */
export const LAKE_PREFIX = 'lake';

/** Also with Kafka gone a service must have ended before somebody asks why its folder is still there. */
const SERVICE_STOP_MS = 7000;
const PLACING_MS = 30_000;

/** The running whole: servers, topics and services. */
export interface Pipeline {
  readonly stack: Stack;
  readonly connections: Connections;
  /** What the alert processor tells. */
  readonly alerts: AlertReceiver;
  /** The file or folder of the rules that hold. */
  readonly rules: string;
  service(name: ServiceName): ServiceProcess;
  /** The service, once it was started. */
  started(name: ServiceName): ServiceProcess | undefined;
  /** Resolves when every service was started. */
  readonly whole: Promise<void>;
  /** Rejects when a part is gone for good. */
  readonly broken: Promise<never>;
  /** Stops services, then servers. */
  stop(): Promise<void>;
}

/** Starts everything, each service as soon as what it needs answers. Rejects, with everything ended, when a part can not be started. */
export async function startPipeline(options: StartOptions, signal: AbortSignal, report: (line: string) => void): Promise<Pipeline> {
  const services = new Map<ServiceName, ServiceProcess>();
  const answering = new Set<Part>();
  let topics: Promise<void> | undefined;
  let whole: Promise<void> | undefined;
  const faults: unknown[] = [];
  const aborter = new AbortController();
  const starting = AbortSignal.any([signal, aborter.signal]);
  const alerts = await AlertReceiver.start();
  const startDue = (place: StackPlace, connections: Connections): void => {
    for (const row of SERVICES) {
      if (starting.aborted || services.has(row.name) || !row.needs.every((part) => answering.has(part))) continue;
      const gatewayUrl = services.get('ingest-gateway')?.url('gateway');
      const { environment } = connections;
      const defaults =
        row.name === ALERT_PROCESSOR ? alertDefaults({ folder: place.folder, environment, gatewayUrl, alerts, options }) : {};
      services.set(row.name, startService(row, place, { ...connections, environment: { ...environment, ...defaults } }, report));
    }
  };
  /** Starts what needs the gateway's address. */
  const startRest = async (place: StackPlace, connections: Connections): Promise<void> => {
    await Promise.all([
      services.get('ingest-gateway')?.waitForUrl('gateway'),
      options.servers === 'own' ? placeAlerts(connections, report) : undefined,
    ]);
    answering.add('gateway');
    startDue(place, connections);
  };
  const serverReady = (name: ServerName, place: StackPlace): void => {
    answering.add(name);
    if (!answering.has('kafka')) return;
    const connections = connectionsTo(place.endpoints, options);
    topics ??= applyTopics(connections, report);
    void topics.then(
      () => {
        startDue(place, connections);
        whole ??= startRest(place, connections);
        whole.catch(() => {}); // Awaited below, when the servers stand.
      },
      (fault: unknown) => {
        faults.push(fault);
        aborter.abort(fault);
      },
    );
  };
  const stopServices = async (): Promise<void> => {
    await Promise.all([...services.values()].map((service) => service.stop()));
    await alerts.close();
  };
  // A start that is given up ends its servers before it says so. Services that begin to stop only then wait for a Kafka that is gone.
  starting.addEventListener('abort', () => void stopServices(), { once: true });
  let stack: Stack | undefined;
  try {
    stack = await startServers(options, starting, report, serverReady);
    // A given Kafka that does not answer must not hold up the stop.
    await Promise.race([topics, rejectedBy(starting)]);
    // What comes later must not hold up the first event.
    const connections = connectionsTo(stack.endpoints, options);
    const rules = rulesPath(stack.folder, connections.environment);
    return standing({ stack, connections, alerts, rules, whole: whole ?? Promise.resolve() }, services, stopServices);
  } catch (fault) {
    await stopServices();
    await stack?.stop();
    throw faults[0] ?? fault;
  }
}

/** Rejects with the signal's reason when it is aborted. */
function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function startServers(
  options: StartOptions,
  signal: AbortSignal,
  report: (line: string) => void,
  serverReady: (name: ServerName, place: StackPlace) => void,
): Promise<Stack> {
  if (options.servers === 'own') {
    const data = options.dataFolder === undefined ? {} : { dataFolder: options.dataFolder };
    return startStack({ jit: 'throughput', brokers: options.brokers, whenServerDies: 'restart', signal, report, serverReady, ...data });
  }
  const stack = useGivenServers();
  for (const name of ['kafka', 'opensearch', 's3proxy'] as const) serverReady(name, stack);
  return Promise.resolve(stack);
}

const COPIES: Readonly<Record<TopicProfile, string>> = {
  local: 'topics: one broker, so each record is kept once (local profile)',
  cluster: 'topics: each record is kept three times, and a post is answered once two have it (cluster profile)',
};

/** The topics that the services use, made as declared: on one broker by the local profile, which keeps nothing twice. */
async function applyTopics({ kafka, profile }: Connections, report: (line: string) => void): Promise<void> {
  report(COPIES[profile]);
  const admin = await connectAdmin(kafka);
  try {
    const specs = topicsFor(profile).filter(({ state }) => state === 'active');
    await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  } catch (cause) {
    throw new Failure(
      `The topics can not be made on Kafka at ${kafka.bootstrapServers} (KAFKA_BOOTSTRAP_SERVERS; ${deepestReason(cause)}): check that it runs there and lets this user make topics.`,
      { cause },
    );
  } finally {
    await admin.close();
  }
}

/**
 * Lets the alert processor begin where the log ends now, before anything is posted: a group that is new begins at the end when it first looks, and what
 * was posted until then would be in no alert.
 */
async function placeAlerts({ kafka }: Connections, report: (line: string) => void): Promise<void> {
  const admin = await connectAdmin(kafka);
  try {
    const topics = streams[SERVICE_EVENTS_TOPIC] ?? [];
    // First, and quickly: nothing waits for this, and posts may come meanwhile.
    const ends = await admin.logEnds(partitionsOf(topics));
    const partitions = await admin.groupLag(ALERT_PROCESSOR, topics);
    if (partitions.some(({ committed }) => committed !== null)) return;
    const positions = partitions.map(({ topic, partition, logEnd }) => ({
      topic,
      partition,
      nextToRead: ends.get(partitionKey({ topic, partition })) ?? logEnd,
    }));
    await commitGroupOffsets(kafka, ALERT_PROCESSOR, positions, PLACING_MS);
  } catch (fault) {
    report(
      `the alert processor begins where the log ends when it comes (${deepestReason(fault)}): alerts do not count what was posted before`,
    );
  } finally {
    await admin.close();
  }
}

function partitionsOf(topics: readonly string[]): readonly TopicPartition[] {
  const declared = topicsFor('local').filter(({ name }) => topics.includes(name));
  return declared.flatMap(({ name: topic, partitions }) => Array.from({ length: partitions }, (_, partition) => ({ topic, partition })));
}

/** The innermost message of a chain of causes: the client's own words on top only count its tries. */
function deepestReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error.cause) : error.cause;
  return inner === undefined ? error.message : deepestReason(inner);
}

function startService(row: ServiceRow, place: StackPlace, connections: Connections, report: (line: string) => void): ServiceProcess {
  const own = {
    TAILRACE_LAKE_PREFIX: LAKE_PREFIX,
    TAILRACE_TOPIC_PROFILE: connections.profile,
    HEALTH_PORT: '0',
    TAILRACE_STOP_TIMEOUT_MS: String(SERVICE_STOP_MS),
  };
  const service = new ServiceProcess({
    name: row.name,
    environment: { ...connections.environment, ...own, ...row.settings?.(place.folder) },
    keepsPort: row.keepsPort,
    logFile: join(place.folder, 'logs', `${row.name}.log`),
    lifeline: place.lifeline,
    report,
  });
  service.start();
  return service;
}

/** Rejects when the last services can not be started, or one of them is broken later. */
async function lateBroken(whole: Promise<void>, services: ReadonlyMap<ServiceName, ServiceProcess>): Promise<never> {
  await whole;
  return await Promise.race([...services.values()].map((service) => service.broken));
}

function standing(
  parts: Pick<Pipeline, 'stack' | 'connections' | 'alerts' | 'rules' | 'whole'>,
  services: ReadonlyMap<ServiceName, ServiceProcess>,
  stopServices: () => Promise<void>,
): Pipeline {
  const serverGone = parts.stack.failed.then((failure) => {
    throw failure;
  });
  const broken = Promise.race<never>([
    serverGone,
    lateBroken(parts.whole, services),
    ...[...services.values()].map((service) => service.broken),
  ]);
  // Whoever waits is told; a start that nobody waits on any more has its own failure to tell.
  broken.catch(() => {});
  return {
    ...parts,
    broken,
    service(name) {
      const service = services.get(name);
      if (service === undefined) throw new Error(`the ${name} was not started`);
      return service;
    },
    started: (name) => services.get(name),
    async stop() {
      await stopServices();
      await parts.stack.stop();
    },
  };
}
