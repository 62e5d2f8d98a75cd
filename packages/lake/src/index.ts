export { archivedAt } from './archived-at.ts';
export { type AuditReport, auditLake, type Finding, type LakeAuditOptions, type PartitionReport } from './audit.ts';
export { type DamagedEntry, type ListedEntry, listChain } from './chain-listing.ts';
export { chainParts, indexObjects, type ObjectIndex } from './chain-parts.ts';
export {
  declareHole,
  type Ended,
  type Extended,
  endOtherLives,
  extendChain,
  type HoleEntry,
  type LogRange,
  lostEntry,
  type MakeObject,
  openChain,
  type ReadLog,
  type Repair,
  type RepairPorts,
  StillThere,
} from './claims.ts';
export { compareWithLogs, type LogComparison, type LogExtent, type LogReport, truncations } from './compare-log.ts';
export { countEvents } from './count-events.ts';
export { damagedFile } from './damaged-files.ts';
export { fetchObjects, listDataObjects, type TimeWindow } from './data-objects.ts';
export { decodeObject } from './decode-object.ts';
export { Database } from './duckdb.ts';
export { FileDamage } from './file-damage.ts';
export { readFooter } from './footer.ts';
export {
  type Extent,
  JoinedReader,
  type JoinedSources,
  LIVE_TAIL_MS,
  type ReplayLog,
  type ReplayPart,
  type ReplaySource,
} from './joined-reader.ts';
export { ARCHIVE_PATIENCE_MS, type JoinedReading, withJoinedReader } from './joined-reading.ts';
export { type KafkaExtents, withKafka } from './kafka-extents.ts';
export { LakeHistory, type LakeHistoryPorts } from './lake-history.ts';
export { lakeLayout, STREAM } from './lake-layout.ts';
export { Ledger } from './ledger.ts';
export { type DataEntry, LedgerDamage, type LedgerEntry, MAX_DATA_SPAN } from './ledger-entry.ts';
export { lookAtSources, lookAtWindow } from './look-at-sources.ts';
export { type BuiltObject, buildObject, dataEntry, objectMaker, type Rows } from './object-builder.ts';
export { dataKey, type LakeLayout } from './object-names.ts';
export { type ListedObject, type ObjectStore, StoreError, storeBuffer } from './object-store.ts';
export { type OldestLook, oldestInLake } from './oldest-in-lake.ts';
export { readParquet } from './parquet-reader.ts';
export { type Planning, planReplay, type TopicLife } from './plan-replay.ts';
export { PutIfAbsentIgnored, provePutIfAbsent } from './prove-put-if-absent.ts';
export { LakeQuery, type QueryResult } from './query.ts';
export { QueryFault } from './query-fault.ts';
export { behindHoles, offsetsIn, within } from './ranges.ts';
export { type ChainId, chainText, type LakeRecord, type OffsetRange } from './records.ts';
export { KafkaReplayLog } from './replay-log.ts';
export {
  CLOCK_SLACK_MS,
  type IndexAnswers,
  isWanted,
  type PlannedPartition,
  type PlanSources,
  type PlanWindow,
  reachOf,
  spanOf,
  type TimeSpan,
} from './replay-plan.ts';
export { planMark, type ReplayPlan, ReplayPlans, type StoredPlan } from './replay-plans.ts';
export {
  type ChannelPositions,
  canaries,
  canNotCome,
  disagreeing,
  isGood,
  lifeKey,
  makeReceipt,
  notApplied,
  type Receipt,
  type ReceiptPartition,
  type SentPartition,
  type SentReport,
  type SideExtents,
  sideKey,
} from './replay-receipt.ts';
export { type Cancellation, type ReplayOrder, type ReplayRun, ReplayRuns } from './replay-runs.ts';
export { type ChainPart, chainEnd, type Mark, type Missing, type PartitionSources, whereNow } from './replay-sources.ts';
export { type PartitionWindow, type ReplayWindow, replayWindow } from './replay-window.ts';
export { RowFile } from './row-file.ts';
export { S3Store } from './s3-store.ts';
export { bothTimes, span } from './times.ts';
export { type WindowTimes, windowTimes } from './window-times.ts';
export { type InParts, isOfTheMoment } from './write-in-parts.ts';
