import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Endpoints, processEnvironment } from './config.ts';
import type { Folders } from './folders.ts';
import { freePorts } from './ports.ts';
import { kafkaAnswers, openSearchAnswers, s3Answers } from './readiness.ts';
import type { ServerPlan } from './server.ts';
import { type Jit, type JvmSite, kafkaSettings, openSearchSettings, s3ProxySettings } from './settings.ts';
import type { ServerName, Toolchain } from './toolchain/servers.mjs';

const REGION = 'us-east-1';
const BUCKET = 'lake';

export interface PlanOptions {
  readonly toolchain: Toolchain;
  readonly folders: Folders;
  readonly jit: Jit;
  readonly brokers: 1;
  readonly archiveOf: (name: ServerName) => JvmSite['archive'];
}

export interface StackPlan {
  readonly endpoints: Endpoints;
  readonly servers: readonly ServerPlan[];
}

/** Chooses ports and a secret, and says for each server how it is started and when it is ready. */
export async function planServers({ toolchain, folders, jit, brokers, archiveOf }: PlanOptions): Promise<StackPlan> {
  const [kafkaPort = 0, controllerPort = 0, openSearchPort = 0, transportPort = 0, s3Port = 0] = await freePorts(5);
  const endpoints: Endpoints = {
    kafkaBootstrapServers: `127.0.0.1:${kafkaPort}`,
    opensearchUrl: `http://127.0.0.1:${openSearchPort}`,
    s3: {
      endpointUrl: `http://127.0.0.1:${s3Port}`,
      region: REGION,
      accessKeyId: 'tailrace',
      secretAccessKey: randomBytes(18).toString('base64url'),
      bucket: BUCKET,
    },
  };
  const plan = (name: ServerName, settings: Record<string, string>, answers: () => Promise<void>): ServerPlan => ({
    name,
    javaHome: toolchain.jdk.home,
    classPath: toolchain.classPaths[name],
    jvm: {
      server: name,
      javaMajor: toolchain.jdk.major,
      jit,
      temporaryFolder: join(folders.scratch, 'tmp'),
      logFolder: folders.logs,
      archive: archiveOf(name),
    },
    settings,
    settingsFile: join(folders.scratch, 'settings', `${name}.properties`),
    logFile: join(folders.logs, `${name}.log`),
    // The log of a failed start has to outlive a temporary folder.
    failedLogFile: join(toolchain.cacheRoot, 'logs', `${name}.log`),
    workFolder: folders.scratch,
    environment: processEnvironment(),
    lifeline: folders.lifeline.stream,
    answers,
  });
  const kafka = kafkaSettings({ nodeId: 1, port: kafkaPort, controllerPort, dataFolder: join(folders.data, 'kafka') });
  const openSearch = openSearchSettings({
    port: openSearchPort,
    transportPort,
    homeFolder: join(folders.scratch, 'opensearch-home'),
    dataFolder: join(folders.data, 'opensearch'),
    logFolder: folders.logs,
  });
  const s3 = s3ProxySettings({ port: s3Port, dataFolder: join(folders.data, 's3'), ...endpoints.s3 });
  return {
    endpoints,
    servers: [
      plan('kafka', kafka, () => kafkaAnswers(kafkaPort, brokers)),
      plan('opensearch', openSearch, () => openSearchAnswers(endpoints.opensearchUrl)),
      plan('s3proxy', s3, () => s3Answers(endpoints.s3)),
    ],
  };
}
