import { createLogger } from '@tailrace/service';
import { expect, test, vi } from 'vitest';
import { ANSWERS, type Answer, type AnswerCode, answer, answerFor, internalFault } from './answers.ts';
import { Rejections } from './intake/rejections.ts';
import { PostWatch } from './post-watch.ts';
import { event, postingGateway } from './testing/gateway.ts';

const fates = { withdrawn: 0, unknown: 0, rejections: new Rejections() };
const kept = answerFor({ ...fates, accepted: 1 });
const lost = (reason: string) => answerFor({ ...fates, accepted: 0, unknown: 1, reason });

/** A watch whose look finds `cause`, and its log. Looks follow one another at once where `quick`. */
function watching(quick = false) {
  const lines: { level: string; msg: string; err?: unknown }[] = [];
  const log = createLogger({ name: 'test', level: 'info', to: { write: (line: string) => void lines.push(JSON.parse(line)) } });
  const found: { cause: string | undefined; fault: Error | undefined; nowMs: number } = { cause: undefined, fault: undefined, nowMs: 0 };
  const stop = new AbortController();
  const watch = new PostWatch({
    log,
    findCause: () => (found.fault === undefined ? Promise.resolve(found.cause) : Promise.reject(found.fault)),
    signal: stop.signal,
    backoff: { firstMs: quick ? 1 : 60_000, factor: 1, maxMs: 60_000, jitter: 0 },
    nowMs: () => found.nowMs,
  });
  return { watch, lines, messages: () => lines.map(({ msg }) => msg), found, stop };
}

const TROUBLES = (Object.keys(ANSWERS) as AnswerCode[]).filter((code) => ANSWERS[code].status === 503 && code !== 'stopping');
const made: Readonly<Partial<Record<AnswerCode, Answer>>> = {
  deadline_passed: lost('Broker: Unknown topic or partition'),
  internal_fault: internalFault(new Error('a bug')),
};

test.each(TROUBLES)('every cause of a 503 is logged once and takes the readiness away until a post is kept: %s', (code) => {
  const { watch, messages, lines } = watching();
  expect(watch.check().state).toBe('ok');
  const answered = made[code] ?? answer(code);
  watch.answered(answered);
  expect(messages()).toEqual([expect.stringMatching(new RegExp(`^posts are answered with 503 \\(${code}, 1 so far\\): .+\\.$`))]);
  expect(lines[0]?.msg).toContain(answered.reason ?? ANSWERS[code].message);
  expect(watch.check()).toMatchObject({ state: 'not-ready', sentence: expect.stringContaining(answered.reason ?? ANSWERS[code].message) });
  watch.answered(kept);
  expect(messages().at(-1)).toBe('posts are kept again after 0.0 s; answered with 503: 1');
  expect(watch.check().state).toBe('degraded');
});

test.each(Object.keys(ANSWERS) as AnswerCode[])('no answer but a 503 that is a fault is trouble: %s', (code) => {
  const { watch, lines } = watching();
  watch.answered(answer(code));
  expect([watch.check().state, lines.length]).toEqual(TROUBLES.includes(code) ? ['not-ready', 1] : ['ok', 0]);
});

test('while it lasts the log says so ever more rarely, also where posts fail and are kept by turns', () => {
  const long = watching();
  for (let n = 0; n < 1000; n++) long.watch.answered(lost('no leader'));
  expect(long.lines).toHaveLength(10);
  const byTurns = watching();
  for (let n = 0; n < 1000; n++) {
    byTurns.watch.answered(lost('no leader'));
    byTurns.watch.answered(kept);
  }
  expect(byTurns.lines).toHaveLength(20);
  byTurns.found.nowMs = 60_001;
  expect(byTurns.watch.check().state).toBe('ok');
  byTurns.watch.answered(lost('no leader'));
  expect(byTurns.messages().at(-1)).toMatch(/1 so far/);
});

test('a refusal for the post’s own fault ends no trouble', () => {
  const { watch } = watching();
  watch.answered(lost('no leader'));
  watch.answered(answer('no_valid_event'));
  expect(watch.check().state).toBe('not-ready');
});

test('the cause that a look finds says what to do, once, and the gateway is ready again by itself when it has passed', async () => {
  const { watch, messages, found, stop } = watching(true);
  found.cause = 'The topic t does not exist; run: npx tailrace topics apply';
  watch.answered(lost('Kafka did not answer before the deadline'));
  await vi.waitFor(() => expect(watch.check().sentence).toContain('npx tailrace topics apply.'));
  watch.answered(lost('Kafka did not answer before the deadline'));
  expect(watch.check()).toMatchObject({ state: 'not-ready', sentence: expect.stringContaining('npx tailrace topics apply.') });
  expect(messages().filter((told) => told.startsWith('what keeps posts out'))).toHaveLength(1);
  found.fault = new Error('no broker');
  await vi.waitFor(() => expect(watch.check().sentence).toContain('Kafka can not be asked: no broker.'));
  found.fault = undefined;
  found.cause = undefined;
  await vi.waitFor(() => expect(watch.check().state).toBe('degraded'));
  expect(messages().at(-1)).toMatch(/^nothing keeps posts out of Kafka any more/);
  watch.answered(lost('again'));
  expect(watch.check()).toMatchObject({ state: 'not-ready', sentence: expect.stringContaining('again.') });
  stop.abort();
});

test('a fault of the gateway itself is logged as an error', () => {
  const { watch, lines } = watching();
  const fault = new Error('a bug');
  watch.answered(internalFault(fault), fault);
  expect(lines).toEqual([expect.objectContaining({ level: 'error', err: expect.objectContaining({ message: 'a bug' }) })]);
});

test.each(['withdrawn', 'unknown'] as const)(
  'posts that get 503 because records are %s are told with the publisher’s reason',
  async (kind) => {
    const { post, publisher, logged } = postingGateway();
    publisher.fateOf = () => ({ kind, reason: 'Broker: Unknown topic or partition' });
    expect((await post(event())).status).toBe(503);
    expect(logged).toEqual([expect.stringContaining('Broker: Unknown topic or partition')]);
  },
);
