import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { InstanceName } from './instances.ts';
import type { ServerName } from './toolchain/servers.mjs';

/** `fast-start` compiles less (tests); `throughput` lets the JIT compile hot code fully (`npm start`, benches). */
export type Jit = 'fast-start' | 'throughput';

/** A broker that is a controller as well. */
export interface KafkaNode {
  readonly nodeId: number;
  readonly port: number;
  readonly controllerPort: number;
}

export interface KafkaSite extends KafkaNode {
  /** Every node of the cluster, this one included. */
  readonly nodes: readonly KafkaNode[];
  readonly clusterId: string;
  readonly dataFolder: string;
}

/** One of one or three nodes. Kafka's own topics are kept as often as there are nodes, and three nodes go on without one of them. */
export function kafkaSettings(site: KafkaSite): Record<string, string> {
  const copies = String(site.nodes.length);
  const copiesInSync = String(Math.ceil(site.nodes.length / 2));
  return {
    'process.roles': 'broker,controller',
    'node.id': String(site.nodeId),
    // The static list of voters: a dynamic one would be written into the log with its port, which is another one at the next start.
    'controller.quorum.voters': site.nodes.map(({ nodeId, controllerPort }) => `${nodeId}@127.0.0.1:${controllerPort}`).join(','),
    listeners: `PLAINTEXT://127.0.0.1:${site.port},CONTROLLER://127.0.0.1:${site.controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${site.port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': site.dataFolder,
    // Read by the launcher, when it formats a new data folder.
    'tailrace.cluster.id': site.clusterId,
    'offsets.topic.num.partitions': '4',
    'offsets.topic.replication.factor': copies,
    'transaction.state.log.num.partitions': '4',
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': copiesInSync,
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': copiesInSync,
    // Kafka's own offsets topic takes the broker's default.
    'min.insync.replicas': copiesInSync,
    'auto.create.topics.enable': 'false',
    'group.initial.rebalance.delay.ms': '0',
    'log.retention.check.interval.ms': '5000',
    'num.network.threads': '2',
    'num.io.threads': '4',
    'background.threads': '2',
    'log.cleaner.dedupe.buffer.size': '8388608',
    // Back after a kill in 5 s instead of 12 to 17.
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    // A killed group member is noticed within 6 s; the broker refuses values below its own minimum, so that is lowered too.
    'group.consumer.min.session.timeout.ms': '6000',
    'group.consumer.session.timeout.ms': '6000',
    'group.consumer.min.heartbeat.interval.ms': '500',
    'group.consumer.heartbeat.interval.ms': '1000',
  };
}

export interface OpenSearchSite {
  readonly port: number;
  readonly transportPort: number;
  readonly homeFolder: string;
  readonly dataFolder: string;
  readonly logFolder: string;
}

export function openSearchSettings(site: OpenSearchSite): Record<string, string> {
  return {
    'path.home': site.homeFolder,
    'path.data': site.dataFolder,
    'path.logs': site.logFolder,
    'cluster.name': 'tailrace',
    'node.name': 'tailrace-1',
    'discovery.type': 'single-node',
    'network.host': '127.0.0.1',
    'http.port': String(site.port),
    'transport.port': String(site.transportPort),
    'transport.type': 'netty4',
    'http.type': 'netty4',
    // With a small heap and the serial collector the real use between two collections trips the breaker: false 429s.
    'indices.breaker.total.use_real_memory': 'false',
    // The default marks are shares of the disk: on a nearly full large disk no shard would be allocated although gigabytes are free.
    'cluster.routing.allocation.disk.watermark.low': '500mb',
    'cluster.routing.allocation.disk.watermark.high': '300mb',
    'cluster.routing.allocation.disk.watermark.flood_stage': '100mb',
  };
}

export interface S3Site {
  readonly port: number;
  readonly dataFolder: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export function s3ProxySettings(site: S3Site): Record<string, string> {
  return {
    's3proxy.endpoint': `http://127.0.0.1:${site.port}`,
    's3proxy.authorization': 'aws-v2-or-v4',
    's3proxy.identity': site.accessKeyId,
    's3proxy.credential': site.secretAccessKey,
    'jclouds.provider': 'filesystem-nio2',
    'jclouds.filesystem.basedir': site.dataFolder,
  };
}

/** A Java properties file: keys and values escaped as `java.util.Properties.load` reads them. */
export function propertiesFile(settings: Readonly<Record<string, string>>): string {
  const escaped = (text: string) =>
    text
      .replace(/[\\:=#!]/g, (character) => `\\${character}`)
      .replace(/^ /, '\\ ')
      .replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return Object.entries(settings)
    .map(([key, value]) => `${escaped(key)}=${escaped(value)}\n`)
    .join('');
}

export interface JvmSite {
  readonly server: ServerName;
  readonly name: InstanceName;
  readonly javaMajor: number;
  readonly jit: Jit;
  /** For files that the JVM and its libraries unpack: they would stay in the system's temporary folder after a kill. */
  readonly temporaryFolder: string;
  readonly logFolder: string;
  /** A class archive to start from, or the one to write when the process ends. */
  readonly archive: { readonly use: string } | { readonly write: string } | undefined;
}

/** Beside both `src` and `dist`. */
const logging = (file: string) => fileURLToPath(new URL(`../java/${file}`, import.meta.url));
const LOGGING: Record<ServerName, string> = {
  kafka: `-Dlog4j2.configurationFile=${logging('log4j2.properties')}`,
  opensearch: `-Dlog4j2.configurationFile=${logging('log4j2.properties')}`,
  s3proxy: `-Dlogback.configurationFile=${logging('logback.xml')}`,
};

const HEAP: Record<ServerName, readonly string[]> = {
  kafka: ['-Xmx256m'],
  opensearch: ['-Xms512m', '-Xmx512m'],
  s3proxy: ['-Xmx128m'],
};

/** The flags of a server's JVM. */
export function jvmFlags(site: JvmSite): string[] {
  // OpenSearch pays twice as much for each document when only the first compiler runs.
  const firstCompilerOnly = site.jit === 'fast-start' && site.server !== 'opensearch';
  return [
    ...HEAP[site.server],
    '-XX:+UseSerialGC',
    ...(firstCompilerOnly ? ['-XX:TieredStopAtLevel=1'] : []),
    '-XX:-UsePerfData',
    '-XX:+ExitOnOutOfMemoryError',
    `-XX:ErrorFile=${join(site.logFolder, `${site.name}-crash.log`)}`,
    `-Djava.io.tmpdir=${site.temporaryFolder}`,
    // JNA ignores the line above and would unpack into the user's cache folder.
    `-Djna.tmpdir=${site.temporaryFolder}`,
    LOGGING[site.server],
    '-Djava.awt.headless=true',
    '-Dfile.encoding=UTF-8',
    ...(site.server === 'opensearch' ? ['--add-modules=jdk.incubator.vector'] : []),
    ...(site.javaMajor >= 24 ? ['--enable-native-access=ALL-UNNAMED'] : []),
    ...(site.javaMajor >= 24 ? ['--sun-misc-unsafe-memory-access=allow'] : []),
    ...archiveFlags(site.archive),
  ];
}

function archiveFlags(archive: JvmSite['archive']): string[] {
  if (archive === undefined) return [];
  // A training run may take its time to write the archive. -Xshare:auto: an archive that does not fit is ignored, never a reason not to start.
  if ('write' in archive) return [`-XX:ArchiveClassesAtExit=${archive.write}`, '-Dtailrace.haltAfterMs=120000'];
  return [`-XX:SharedArchiveFile=${archive.use}`, '-Xshare:auto'];
}
