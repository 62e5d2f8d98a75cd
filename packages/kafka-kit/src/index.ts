export type { Batch, CloseReason, Gap, Lane, Outcome, Sink } from './consume/contract.ts';
export { STORED } from './consume/contract.ts';
export type { OutgoingRecord, Published, Publisher } from './publish/contract.ts';
export type { Coordinates, Headers, RawRecord, TopicPartition } from './records.ts';
export { partitionKey } from './records.ts';
export type { KafkaSettings } from './settings.ts';
