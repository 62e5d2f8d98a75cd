import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JvmSite, jvmFlags, type KafkaSite, kafkaSettings, openSearchSettings, propertiesFile, s3ProxySettings } from './settings.ts';

/** What `java.util.Properties.load` makes of a file of single-line entries. */
function load(file: string): Record<string, string> {
  const unescaped = (text: string) =>
    text.replace(/\\u([0-9a-f]{4})|\\(.)/g, (_, hex: string | undefined, character: string) =>
      hex === undefined ? character : String.fromCharCode(Number.parseInt(hex, 16)),
    );
  const entries = file
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, key = '', value = ''] = /^((?:\\.|[^\\:= ])*) *[:= ] *(.*)$/.exec(line) ?? [];
      return [unescaped(key), unescaped(value)];
    });
  return Object.fromEntries(entries);
}

describe('a properties file', () => {
  test('holds any text, also a folder with blanks, colons and umlauts', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z.]+$/), fc.string({ unit: 'binary' }), { noNullPrototype: true }), (settings) => {
        expect(load(propertiesFile(settings))).toEqual(settings);
      }),
    );
  });

  test('is one line per setting', () => {
    expect(propertiesFile({ 'log.dirs': '/a b/ü', url: 'http://h:1' })).toBe('log.dirs=/a b/\\u00fc\nurl=http\\://h\\:1\n');
  });
});

/** The first of as many nodes as there are ports. */
function kafkaSite(...ports: readonly number[]): KafkaSite {
  const nodes = ports.map((port, i) => ({ nodeId: i + 1, port, controllerPort: port * 2 }));
  const [first = { nodeId: 1, port: 0, controllerPort: 0 }] = nodes;
  return { ...first, nodes, clusterId: 'c', dataFolder: '/d' };
}

test('Kafka announces the address on which it listens, creates nothing by itself, and keeps one copy of its own topics', () => {
  const settings = kafkaSettings(kafkaSite(1111));
  expect(settings.listeners).toContain(settings['advertised.listeners']);
  expect(settings).toMatchObject({
    'controller.quorum.voters': '1@127.0.0.1:2222',
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'group.consumer.min.session.timeout.ms': '6000',
  });
});

test('three brokers know each other, keep everything three times, and go on with two', () => {
  expect(kafkaSettings(kafkaSite(1111, 3333, 5555))).toMatchObject({
    'controller.quorum.voters': '1@127.0.0.1:2222,2@127.0.0.1:6666,3@127.0.0.1:11110',
    'offsets.topic.replication.factor': '3',
    'transaction.state.log.replication.factor': '3',
    'transaction.state.log.min.isr': '2',
    'min.insync.replicas': '2',
  });
});

test('OpenSearch counts reserved instead of used memory, and free bytes instead of shares of a disk', () => {
  const settings = openSearchSettings({ port: 1, transportPort: 2, homeFolder: '/h', dataFolder: '/d', logFolder: '/l' });
  expect(settings['indices.breaker.total.use_real_memory']).toBe('false');
  expect(settings['cluster.routing.allocation.disk.watermark.flood_stage']).toMatch(/mb$/);
});

test('every server listens on loopback only', () => {
  const kafka = kafkaSettings(kafkaSite(1));
  const openSearch = openSearchSettings({ port: 1, transportPort: 2, homeFolder: '/h', dataFolder: '/d', logFolder: '/l' });
  const s3 = s3ProxySettings({ port: 1, dataFolder: '/d', accessKeyId: 'i', secretAccessKey: 's' });
  expect(kafka.listeners).toMatch(/^PLAINTEXT:\/\/127\.0\.0\.1:1,CONTROLLER:\/\/127\.0\.0\.1:2$/);
  expect(openSearch['network.host']).toBe('127.0.0.1');
  expect(s3['s3proxy.endpoint']).toBe('http://127.0.0.1:1');
});

describe('the flags of a JVM', () => {
  const site: JvmSite = {
    server: 'kafka',
    name: 'kafka-2',
    javaMajor: 25,
    jit: 'fast-start',
    temporaryFolder: '/t',
    logFolder: '/l',
    archive: undefined,
  };

  test.each([
    ['kafka', 'fast-start', true],
    ['kafka', 'throughput', false],
    ['s3proxy', 'fast-start', true],
    ['opensearch', 'fast-start', false],
  ] as const)('%s with %s: first compiler only is %s', (server, jit, expected) => {
    expect(jvmFlags({ ...site, server, jit }).includes('-XX:TieredStopAtLevel=1')).toBe(expected);
  });

  test('Java 17 is not given options that it does not know', () => {
    expect(jvmFlags({ ...site, javaMajor: 17 }).join(' ')).not.toMatch(/native-access|unsafe-memory/);
  });

  test('an archive that does not fit is no reason not to start', () => {
    expect(jvmFlags({ ...site, archive: { use: '/a.jsa' } })).toEqual(
      expect.arrayContaining(['-XX:SharedArchiveFile=/a.jsa', '-Xshare:auto']),
    );
  });

  test('a training run gets the time to write its archive', () => {
    expect(jvmFlags({ ...site, archive: { write: '/a.jsa' } })).toEqual(
      expect.arrayContaining(['-XX:ArchiveClassesAtExit=/a.jsa', '-Dtailrace.haltAfterMs=120000']),
    );
  });
});
