import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Endpoints, processEnvironment } from './config.ts';
import type { Folders } from './folders.ts';
import { type BrokerCount, brokerNames, type InstanceName } from './instances.ts';
import { freePorts } from './ports.ts';
import { kafkaAnswers, openSearchAnswers, s3Answers } from './readiness.ts';
import type { ServerPlan } from './server.ts';
import { type Jit, type JvmSite, type KafkaNode, kafkaSettings, openSearchSettings, s3ProxySettings } from './settings.ts';
import type { ServerName, Toolchain } from './toolchain/servers.mjs';

const REGION = 'us-east-1';
const BUCKET = 'lake';

export interface PlanOptions {
  readonly toolchain: Toolchain;
  readonly folders: Folders;
  readonly jit: Jit;
  readonly brokers: BrokerCount;
  readonly archiveOf: (name: ServerName) => JvmSite['archive'];
}

export interface StackPlan {
  readonly endpoints: Endpoints;
  readonly servers: readonly ServerPlan[];
}

/** Chooses ports and a secret, and says for each server how it is started and when it is ready. */
export async function planServers({ toolchain, folders, jit, brokers, archiveOf }: PlanOptions): Promise<StackPlan> {
  const names = brokerNames(brokers);
  const [openSearchPort = 0, transportPort = 0, s3Port = 0, ...kafkaPorts] = await freePorts(3 + 2 * names.length);
  const nodes = names.map((name, i) => {
    const [port = 0, controllerPort = 0] = kafkaPorts.slice(2 * i);
    return { name, nodeId: i + 1, port, controllerPort } satisfies KafkaNode & { name: InstanceName };
  });
  const endpoints: Endpoints = {
    kafkaBootstrapServers: nodes.map(({ port }) => `127.0.0.1:${port}`).join(','),
    opensearchUrl: `http://127.0.0.1:${openSearchPort}`,
    s3: {
      endpointUrl: `http://127.0.0.1:${s3Port}`,
      region: REGION,
      accessKeyId: 'tailrace',
      secretAccessKey: randomBytes(18).toString('base64url'),
      bucket: BUCKET,
    },
  };
  const plan = (server: ServerName, name: InstanceName, settings: Record<string, string>, answers: () => Promise<void>): ServerPlan => ({
    name,
    javaHome: toolchain.jdk.home,
    classPath: toolchain.classPaths[server],
    jvm: {
      server,
      name,
      javaMajor: toolchain.jdk.major,
      jit,
      temporaryFolder: join(folders.scratch, 'tmp'),
      logFolder: folders.logs,
      archive: archiveOf(server),
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
      ...nodes.map((node) => {
        const settings = kafkaSettings({ ...node, nodes, clusterId: folders.clusterId, dataFolder: join(folders.data, node.name) });
        return plan('kafka', node.name, settings, () => kafkaAnswers(node.port, node.nodeId));
      }),
      plan('opensearch', 'opensearch', openSearch, () => openSearchAnswers(endpoints.opensearchUrl)),
      plan('s3proxy', 's3proxy', s3, () => s3Answers(endpoints.s3)),
    ],
  };
}
