export { type ClusterAdmin, connectAdmin, type OffsetAt, type PartitionLag } from './admin/cluster-admin.ts';
export { countGroupMembers } from './admin/group-view.ts';
export { ContractError, type ContractMode, checkTopics } from './admin/topic-contract.ts';
export { type ActualTopic, describeChange, describeDone, planTopics, type TopicChange, type TopicSpec } from './admin/topic-plan.ts';
export { readRetentions } from './admin/topic-retention.ts';
export type { BrokerConsumer, ClientLogLine, CommitResult, PartitionFacts, Position } from './broker/broker-consumer.ts';
export { BrokerError } from './broker/broker-consumer.ts';
export { commitGroupOffsets, GroupIsLive } from './broker/group-offsets.ts';
export type { GroupMembership, GroupProtocol } from './broker/membership.ts';
export { createNativeConsumer } from './broker/native-consumer.ts';
export { incarnationOf, TopicIdentity } from './broker/topic-identity.ts';
export { Turns } from './broker/turns.ts';
export type { BatchLimits } from './consume/batcher.ts';
export type { ConsumerRuntime, RuntimeState } from './consume/consumer-runtime.ts';
export type { Batch, CloseReason, Gap, Lane, Outcome, Sink } from './consume/contract.ts';
export { STORED, StandsStill } from './consume/contract.ts';
export type { DeadLetterHalt, DeadLetterPort } from './consume/dead-letters.ts';
export type { IdleMember } from './consume/idle-member.ts';
export type { HaltReason } from './consume/lane-phase.ts';
export type { HaltCause, LaneView, RestoreView } from './consume/lane-view.ts';
export type { ConsumerOptions, DrainReport, ReachedPosition, RuntimePorts, StoreKeeper, StuckLane } from './consume/options.ts';
export { createConsumerRuntime } from './consume/runtime.ts';
export { SideChannel } from './consume/side-channel.ts';
export { TAILRACE } from './observe/command.ts';
export { ENDPOINTS_FILE, hintsFor } from './observe/hints.ts';
export { metricReference } from './observe/metric-reference.ts';
export {
  everyOf,
  type GaugeReaders,
  type LabelBound,
  type MetricRow,
  type MetricTable,
  type Registered,
  registerMetrics,
  type SetGauge,
  startAtZero,
} from './observe/metric-table.ts';
export { Pace, SLOW_LOOP_RESPONSE } from './observe/pace.ts';
export { reasonsOf } from './observe/reasons.ts';
export type { RuntimeEvent } from './observe/runtime-events.ts';
export { type RuntimeHealth, runtimeHealth } from './observe/runtime-health.ts';
export { type RuntimeLogger, type RuntimeLogLine, runtimeLog, runtimeLogLine } from './observe/runtime-log.ts';
export { RUNTIME_METRICS } from './observe/runtime-metric-table.ts';
export { type RuntimeMetrics, runtimeMetrics } from './observe/runtime-metrics.ts';
export type { OutgoingRecord, Published, Publisher } from './publish/contract.ts';
export { connectPublisher } from './publish/kafka-publisher.ts';
export type { Coordinates, Headers, RawRecord, TopicPartition } from './records.ts';
export { partitionKey } from './records.ts';
export { type Backoff, backoffMs, DEFAULT_BACKOFF } from './recover/backoff.ts';
export { type ChannelPort, type ChannelStates, channelLog } from './recover/channel-log.ts';
export {
  type AppliedCounts,
  type ChannelPosition,
  type ChannelRecord,
  channelRecord,
  readChannelRecord,
  type SentKey,
  type SentPosition,
  sentRecord,
  sentTombstone,
} from './recover/channel-record.ts';
export { type DeadLetter, deadLetterRecord, readDeadLetter } from './recover/dead-letter.ts';
export { BUDGET_RULE, type BudgetRule } from './recover/dead-letter-budget.ts';
export { connectTimeReader, type FirstOf, type FirstTimes, firstTimes, type RecordPlace, type TimeReader } from './recover/first-times.ts';
export { type GapDone, type GapPolicy, gapDone } from './recover/gap-policy.ts';
export { gapFinding, gapWay } from './recover/gap-sentence.ts';
export { oldestUnread } from './recover/oldest-unread.ts';
export { gapAt } from './recover/position.ts';
export type { KeptPosition } from './recover/position-record.ts';
export { type PositionsPort, positionsLog, type ReadPositions } from './recover/positions-log.ts';
export { type LogRange, readRanges } from './recover/read-ranges.ts';
export { HistoryHole, type HistoryPart, type HistoryRecord, type PassedPart, type RecordHistory } from './recover/record-history.ts';
export { decodeSideRecord, encodeSideRecord, type RecordParts, type SideRecord } from './recover/side-record.ts';
export { placed, untilReached, type WaitedFor, type WaitingRoom } from './recover/until-reached.ts';
export type { KafkaSettings } from './settings.ts';
export { type Clock, systemClock } from './time/clock.ts';
export { isCalendarTime, isoTime } from './time/iso-time.ts';
