import type { Receipt, SentReport } from './replay-receipt.ts';

/** Whether what was read from the bucket is what was put there: a receipt is made from the one, and shown from the other. */

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isWhole: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isTime: Check = (value) => Number.isSafeInteger(value);
const isChecksum: Check = (value) => typeof value === 'string' && /^[0-9a-f]{16}$/.test(value);
const isListOf =
  (each: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(each);
const isMaybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const isCounts: Check = (value) => isFields(value) && Object.values(value).every(isWhole);
const isOneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.some((word) => word === value);

/** Every field of the table must be as it says. */
const has =
  (table: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isFields(value) && Object.entries(table).every(([name, check]) => check(value[name]));

const sums = { records: isWhole, bytes: isWhole, checksum: isChecksum, fromLake: isWhole, fromKafka: isWhole };
const sentPartition = {
  ...sums,
  topic: isText,
  incarnation: isText,
  partition: isWhole,
  sideTopic: isText,
  sideIncarnation: isText,
  sideNext: isWhole,
  lost: isWhole,
  beforeArchive: isWhole,
  voids: isWhole,
};
const applied = { stored: isWhole, skipped: isCounts, dead: isWhole, retried: isWhole, checksum: isChecksum };
const missing = { first: isWhole, next: isWhole, kind: isOneOf('hole', 'lost', 'before-archive') };

const isReport = has({ plan: isWhole, endedAtMs: isTime, cancelled: isFlag, partitions: isListOf(has(sentPartition)) });
const isWholeReceipt = has({
  run: isWhole,
  plan: isWhole,
  into: isText,
  window: has({ fromMs: isTime, toMs: isTime, by: isOneOf('broker', 'event'), skewMs: isWhole }),
  where: isMaybe(isListOf(isText)),
  keepDays: isMaybe(isWhole),
  startedAtMs: isTime,
  sentAtMs: isTime,
  madeAtMs: isTime,
  cancelled: isFlag,
  sent: has(sums),
  applied: has(applied),
  gone: isWhole,
  holes: isWhole,
  agrees: isFlag,
  partitions: isListOf(has({ ...sentPartition, missing: isListOf(has(missing)), applied: has(applied), gone: isWhole, agrees: isFlag })),
});

export function isSentReport(value: object): value is SentReport {
  return isReport(value);
}

export function isReceipt(value: object): value is Receipt {
  return isWholeReceipt(value);
}
