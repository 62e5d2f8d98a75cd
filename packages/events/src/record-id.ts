/** What a record id says: where a record stands for ever. */
export interface RecordIdParts {
  readonly topic: string;
  readonly incarnation: string;
  readonly partition: number;
  readonly offset: number;
}

/** Topic names hold `.`, `_` and `-` but never `~`; base64url holds `-` too, so only the right end tells the parts apart. */
const RECORD_ID = /^([A-Za-z0-9._-]{1,249})~([A-Za-z0-9_-]{8})-(0|[1-9]\d*)-(0|[1-9]\d*)$/;

/** `<topic>~<incarnation>-<partition>-<offset>`. Needs nothing from the record's content, so it is the same for ever. */
export function formatRecordId(record: RecordIdParts): string {
  return `${record.topic}~${record.incarnation}-${record.partition}-${record.offset}`;
}

/** The parts of a record id, or undefined when the text is not exactly what `formatRecordId` makes. */
export function parseRecordId(id: string): RecordIdParts | undefined {
  const [, topic, incarnation, partitionText, offsetText] = RECORD_ID.exec(id) ?? [];
  if (topic === undefined || incarnation === undefined) return undefined;
  const partition = Number(partitionText);
  const offset = Number(offsetText);
  return Number.isSafeInteger(partition) && Number.isSafeInteger(offset) ? { topic, incarnation, partition, offset } : undefined;
}
