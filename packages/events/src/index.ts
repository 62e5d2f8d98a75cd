export { CANARY_REASON, CANARY_SERVICE } from './canary.ts';
export {
  type Comparison,
  comparisonHolds,
  OPERATORS,
  type Operator,
  readComparison,
  readFieldPath,
  type WrittenValue,
} from './comparison.ts';
export { generatedDocs } from './docs.ts';
export type { EventFieldName, ServiceEvent } from './event.ts';
export {
  EVENT_TYPE_HEADER,
  EVENT_VERSION_HEADER,
  type EventKind,
  eventKind,
  SERVICE_EVENT_TYPE,
  SERVICE_EVENT_VERSION,
  serviceEventHeaders,
} from './event-headers.ts';
export { ATTRIBUTE_PREFIX, comparableFields, type FieldPath, fieldNamed, fieldReader, fieldValue } from './field-value.ts';
export { type Field, MAX_EVENT_BYTES, serviceEventFields } from './fields.ts';
export { type EventFilter, filterMatches, type ParsedFilter, parseFilter } from './filter.ts';
export {
  decideGroupName,
  type GapPolicy,
  type GroupDeclaration,
  type GroupName,
  gapPolicies,
  groupNamed,
  groups,
  replayable,
  replayGroupName,
  type SideTopic,
} from './groups.ts';
export { growthProblems } from './growth.ts';
export { eventFieldMappings } from './index-mapping.ts';
export { type Instant, instantMs, isInstant, parseInstant } from './instant.ts';
export { type Member, objectMembers, type Part, valueStartOf } from './json-parts.ts';
export { serviceEventSchema } from './json-schema.ts';
export { keyOf, murmur2, partitionForKey } from './keys.ts';
export { likelyService } from './likely-service.ts';
export { type Line, splitNdjson } from './ndjson.ts';
export { type DuckDbType, type ParquetColumn, parquetColumns } from './parquet-columns.ts';
export { type SeededRandom, seededRandom } from './random.ts';
export { formatRecordId, parseRecordId, type RecordIdParts } from './record-id.ts';
export {
  ALERT_PARTIALS_TOPIC,
  ALERT_STATE_TOPIC,
  type KeyMeaning,
  POSITIONS_TOPIC,
  SERVICE_EVENTS_TOPIC,
  sideTopicName,
  streams,
  type TopicDeclaration,
  type TopicProfile,
  topicsFor,
} from './topics.ts';
export { generateEvents, type TrafficOptions } from './traffic.ts';
export { type CheckedEvent, checkEventBytes, type EventRules, type Problem, validateEvent } from './validate.ts';
