/** Whether a value is what a field of a record holds. */
type Check = (value: unknown) => boolean;

/** No `Date` holds a later time, and none that is later can be told. */
const MAX_TIME_MS = 8.64e15;

const text: Check = (value) => typeof value === 'string';
const number: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const whole: Check = (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const time: Check = (value) => typeof value === 'number' && Math.abs(value) <= MAX_TIME_MS;
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const nullable =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const mapOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);
/** Fields that it does not name may be there: a later version wrote them. */
const shape =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

const EVIDENCE = shape({
  text,
  value: nullable(number),
  threshold: number,
  events: number,
  windowStartMs: time,
  windowEndMs: time,
  completeUpToMs: nullable(time),
  missing: listOf(text),
  brokerMs: nullable(time),
  eventMs: nullable(time),
});

const NOTIFICATION = shape({
  key: text,
  incident: text,
  status: oneOf('firing', 'resolved'),
  rule: text,
  group: mapOf(nullable(text)),
  severity: text,
  summary: text,
  labels: mapOf(text),
  response: shape({ do: text, doNot: text }),
  runbook: optional(text),
  startedMs: time,
  decidedMs: time,
  evidence: EVIDENCE,
});

const SEND = shape({
  key: text,
  channel: text,
  status: oneOf('pending', 'sent', 'refused', 'given-up'),
  attempts: whole,
  lastAttemptMs: optional(time),
  reason: optional(text),
});

const ALERT = shape({
  epoch: whole,
  rule: text,
  group: text,
  version: text,
  state: oneOf('ok', 'firing'),
  episodeMs: time,
  afterMs: optional(time),
  givenUp: optional(whole),
  firstEndMs: time,
  lastFiringMs: time,
  decidedMs: time,
  earlierMs: optional(time),
  writtenMs: time,
  transitions: listOf(shape({ name: text, atMs: time, notification: NOTIFICATION, silencedBy: optional(text), sends: listOf(SEND) })),
});

const PARTITION = shape({ epoch: whole, partition: whole, watermarkMs: nullable(time), owner: text });

const SILENCE = shape({
  epoch: whole,
  silence: shape({ id: text, rule: optional(text), group: optional(text), fromMs: time, untilMs: time, comment: text }),
});

/** Every field that is read of a record of `alert-state`: one that is not as it must be would stop whoever takes the partition over, for ever. */
export const STATE_SHAPES: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map([
  ['alert', ALERT],
  ['partition', PARTITION],
  ['silence', SILENCE],
]);
