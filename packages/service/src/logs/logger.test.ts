import { expect, test } from 'vitest';
import { kafkaLog } from './kafka-log.ts';
import { logListening, readListening, urlOf } from './listening.ts';
import { createLogger, type Logger } from './logger.ts';

function logged(write: (log: Logger) => void, secrets: readonly string[] = [], level = 'trace'): string[] {
  const lines: string[] = [];
  write(createLogger({ name: 'test', level, secrets, to: { write: (line: string) => void lines.push(line.trimEnd()) } }));
  return lines;
}

test('a line is one JSON object with the level as a word and the time in ISO 8601', () => {
  const [line] = logged((log) => log.info({ partition: 3 }, 'hello'));
  const { time, ...rest } = JSON.parse(line ?? '');
  expect(rest).toEqual({ level: 'info', pid: process.pid, name: 'test', partition: 3, msg: 'hello' });
  expect(new Date(time).toISOString()).toBe(time);
});

test('properties that hold secrets are struck out on three levels', () => {
  const [line] = logged((log) =>
    log.info({
      password: 'p1',
      kafka: { saslPassword: 'p2', saslUsername: 'u' },
      request: { headers: { authorization: 'p3', cookie: 'p4', 'set-cookie': 'p5', host: 'h' } },
    }),
  );
  expect(line).not.toMatch(/"p\d"/);
  expect(JSON.parse(line ?? '')).toMatchObject({ kafka: { saslUsername: 'u' }, request: { headers: { host: 'h' } } });
});

test('a secret value is struck out wherever it stands: message, error text, stack, URL, escaped', () => {
  const secret = 'p"a\\ss/w ord';
  const [line] = logged(
    (log) => log.error({ err: new Error(`refused ${secret}`), url: `http://u:${encodeURIComponent(secret)}@h` }, `again ${secret}`),
    [secret, 'info'],
  );
  expect(line).not.toContain('ss/w ord');
  expect(line).not.toContain('ss%2Fw');
  expect(JSON.parse(line ?? '')).toMatchObject({ msg: 'again (secret)', url: 'http://u:(secret)@h', err: { message: 'refused (secret)' } });
});

test.each([
  ['trace', true],
  ['debug', true],
  ['info', false],
  ['fatal', false],
])('under level %s a fault has its stack: %s; its kind and the messages of its causes it has always', (level, stacks) => {
  const cause = new AggregateError([new Error('refused')], 'no server answers');
  const fault = Object.assign(new TypeError('can not go on', { cause }), { code: 'E1', inner: new Error('inner') });
  const lines = logged((log) => log.child({ part: 'x' }).fatal({ err: fault }, 'ended'), [], level);
  const { err } = JSON.parse(lines[0] ?? '');
  expect(err).toMatchObject({ type: 'TypeError', message: 'can not go on: no server answers', code: 'E1', inner: { message: 'inner' } });
  expect(lines[0]?.includes('logger.test.ts')).toBe(stacks);
  const [aggregated] = logged((log) => log.fatal({ err: cause }), [], level);
  expect(JSON.parse(aggregated ?? '')).toMatchObject({ err: { aggregateErrors: [{ message: 'refused' }] } });
  expect(aggregated?.includes('logger.test.ts')).toBe(stacks);
});

test('a fault that is no error is logged as it is', () => {
  expect(JSON.parse(logged((log) => log.error({ err: 'just words' }), [], 'info')[0] ?? '')).toMatchObject({ err: 'just words' });
});

test('a short secret does not tear words apart', () => {
  expect(JSON.parse(logged((log) => log.info('information'), ['info'])[0] ?? '')).toMatchObject({ level: 'info', msg: 'information' });
});

test.each([
  [0, 'error'],
  [3, 'error'],
  [4, 'warn'],
  [5, 'info'],
  [7, 'debug'],
  [99, 'info'],
])('a Kafka client line of severity %i is logged as %s with its facility', (severity, level) => {
  const [line] = logged((log) => kafkaLog(log)({ severity, facility: 'REQTMOUT', message: '[thrd:x]: timed out' }));
  expect(JSON.parse(line ?? '')).toMatchObject({ level, from: 'kafka-client', facility: 'REQTMOUT', msg: '[thrd:x]: timed out' });
});

test('an address that was logged is read back, and nothing else is', () => {
  const [line] = logged((log) => logListening(log, 'gateway', urlOf('::1', 8080)));
  expect(readListening(line ?? '')).toEqual({ server: 'gateway', url: 'http://[::1]:8080' });
  expect(readListening('{"msg":"hello"}')).toBeUndefined();
  expect(readListening('"listening" but no JSON')).toBeUndefined();
  expect(readListening('{"listening":1,"url":2}')).toBeUndefined();
});
