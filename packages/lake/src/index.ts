export { type AuditReport, auditLake, type Finding, type PartitionReport } from './audit.ts';
export {
  type Extended,
  extendChain,
  type LogRange,
  type MakeObject,
  type OpenChain,
  openChain,
  type ReadLog,
  type Repair,
  type RepairPorts,
  repairClaim,
} from './claims.ts';
export { Database, type DatabaseOptions } from './duckdb.ts';
export { FileDamage, type FileDescription, type Footer, readFooter } from './footer.ts';
export { type Claim, Ledger, type LedgerItem } from './ledger.ts';
export { type DataEntry, LedgerDamage, type LedgerEntry, MAX_DATA_SPAN } from './ledger-entry.ts';
export { type BuiltObject, buildObject, dataEntry, objectMaker, type Rows } from './object-builder.ts';
export { arrivalHour, type DataName, dataKey, dataPrefix, type LakeLayout, parseDataKey } from './object-names.ts';
export { type ListedObject, type ObjectStore, StoreError, storeBuffer } from './object-store.ts';
export { readParquet } from './parquet-reader.ts';
export { PutIfAbsentIgnored, provePutIfAbsent } from './prove-put-if-absent.ts';
export { fetchObjects, listDataObjects, type QueryResult, queryFiles } from './query.ts';
export { type ChainId, chainText, type LakeRecord, type OffsetRange } from './records.ts';
export { RowFile } from './row-file.ts';
export type { RowTotals } from './row-totals.ts';
export { type S3Settings, S3Store } from './s3-store.ts';
