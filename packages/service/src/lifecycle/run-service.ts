import { ConfigError, secretsOf, unknownOf } from '../config/load.ts';
import type { ServiceConfig } from '../config/tables.ts';
import { Health } from '../health/health.ts';
import { createMetrics, type Metrics } from '../health/metrics.ts';
import { createProbes, type Probes } from '../health/probes.ts';
import { startHealthServer } from '../health/server.ts';
import { logListening } from '../logs/listening.ts';
import { createLogger, type Logger } from '../logs/logger.ts';
import { endProcess } from './end-process.ts';
import { watchStopRequests } from './stop-requests.ts';
import { Supervisor } from './supervisor.ts';

/** What a service's `start` works with. */
export interface Service {
  readonly name: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly probes: Probes;
  /** Aborted when the process is to stop. */
  readonly signal: AbortSignal;
  /** Starts a part: `open` gives it, `close` ends it in the milliseconds that it is given. Parts stop in reverse order. */
  start: Supervisor['start'];
  /** A part broke for good while running: the process stops in order and exits with 1. */
  fail(fault: Error): void;
}

export interface ServiceDefinition<C> {
  readonly name: string;
  /** Reads the configuration from the environment; throws ConfigError when it is wrong. */
  readonly config: () => C;
  /** Starts the parts, each by `service.start`, in order. When it returns, the service is ready. A ConfigError says that a setting names something that can not be used. */
  readonly start: (service: Service, config: C) => Promise<void>;
}

/**
 * Exit codes: 0 stopped as asked; 1 it could not start, broke, or a part did not stop cleanly; 2 the configuration is wrong. A part
 * that hangs inside native code keeps the process from exiting: then it ends by a signal, SIGTERM in place of 0 and SIGKILL in place of 1.
 */
export const EXIT = { stopped: 0, failed: 1, wrongUse: 2 } as const;

/** Runs a service until it is told to stop, then exits the process. */
export async function runService<C extends { readonly service: ServiceConfig }>(definition: ServiceDefinition<C>): Promise<never> {
  const config = readConfigOrExit(definition.config);
  const log = createLogger({ name: definition.name, level: config.service.logLevel, secrets: secretsOf(config) });
  for (const sentence of unknownOf(config)) log.warn(sentence);
  const requests = watchStopRequests(log, { onStdinEnd: config.service.stopOnStdinEnd });
  const supervisor = new Supervisor(log);
  const health = new Health();
  const metrics = createMetrics();
  const probes = createProbes(health, metrics);
  const service: Service = {
    name: definition.name,
    log,
    metrics,
    health,
    probes,
    signal: supervisor.signal,
    start: (name, open, close) => supervisor.start(name, open, close),
    fail(fault) {
      log.fatal({ err: fault }, fault.message);
      requests.ask({ why: fault.message, exitCode: EXIT.failed });
    },
  };

  let state: 'starting' | 'running' | 'stopping' = 'starting';
  health.set('process', () => {
    if (state === 'running') return { state: 'ok', sentence: 'Everything has started.' };
    if (state === 'stopping') return { state: 'not-ready', sentence: 'The process is stopping.' };
    return { state: 'not-ready', sentence: `The process is starting: ${supervisor.opening ?? 'nothing yet'}.` };
  });
  void startAll(definition, service, config).then(
    () => {
      if (state !== 'starting') return;
      state = 'running';
      log.info('ready');
    },
    (fault: unknown) => {
      // Once a stop was asked for, a start that gives up is what was wanted.
      // Why it gave up is no fault either, so it is told without its stack.
      if (supervisor.signal.aborted) log.info(`the start was given up: ${fault instanceof Error ? fault.message : String(fault)}`);
      else if (fault instanceof ConfigError) {
        // What a setting names can be looked at only now: another start would end the same way.
        const sentence = fault.lines.join(' ');
        log.fatal(sentence);
        requests.ask({ why: sentence, exitCode: EXIT.wrongUse });
      } else service.fail(fault instanceof Error ? fault : new Error(String(fault)));
    },
  );

  const { why, exitCode } = await requests.first;
  state = 'stopping';
  // A stop that nobody asked for ends a service: it must not look like one that was wished for.
  log[exitCode === EXIT.stopped ? 'info' : 'error']({ why }, `stopping: ${why}`);
  const { hung, failed } = await supervisor.stop(config.service.stopTimeoutMs);
  if (hung.length + failed.length === 0) {
    log.info('stopped');
    endProcess(exitCode);
  }
  log.error(
    { hung, failed },
    `stopped, but not cleanly: ${[...hung.map((part) => `${part} hung`), ...failed.map((part) => `${part} failed`)].join(', ')}`,
  );
  endProcess(EXIT.failed);
}

function readConfigOrExit<C>(config: () => C): C {
  try {
    return config();
  } catch (fault) {
    if (!(fault instanceof ConfigError)) throw fault;
    process.stderr.write(`${fault.message}\n`);
    process.exit(EXIT.wrongUse);
  }
}

async function startAll<C extends { readonly service: ServiceConfig }>(
  { start }: ServiceDefinition<C>,
  service: Service,
  config: C,
): Promise<void> {
  const { healthHost: host, healthPort: port } = config.service;
  const server = await service.start(
    'health',
    () => startHealthServer(service.probes, { host, port }),
    (running) => running.close(),
  );
  logListening(service.log, 'health', server.url);
  await start(service, config);
}
