import { eventFieldMappings, SERVICE_EVENT_VERSION } from '@tailrace/events';

export interface IndexSettings {
  /** The alias of all daily indices, and what their names begin with. */
  readonly name: string;
  readonly shards: number;
  readonly replicas: number;
}

/** The record's own fields, under the names that the lake has for them. */
const recordMappings = {
  topic: { type: 'keyword' },
  incarnation: { type: 'keyword' },
  partition: { type: 'integer' },
  offset: { type: 'long' },
  kafka_timestamp: { type: 'date', format: 'epoch_millis' },
} as const;

/** What the indexer adds where an event can not be indexed as it is. */
const repairMappings = {
  timestamp_raw: { type: 'keyword', ignore_above: 1024 },
  raw_reason: { type: 'keyword', ignore_above: 1024 },
} as const;

/** The mapping of every field of a daily index. */
export const fieldMappings: Readonly<Record<string, object>> = { ...eventFieldMappings, ...recordMappings, ...repairMappings };

/** Members that a document may have without a mapping: the whole event as text is kept, not searched. */
export const unmappedMembers: readonly string[] = ['event_raw'];

/**
 * The settings that decide what becomes of an acknowledged document. With `async` durability a kill right after the answer loses it;
 * a pipeline changes or drops it; `ignore_malformed` leaves out what should be refused. All are also OpenSearch's own defaults, and
 * are named so that no template changes them.
 */
export const keepingSettings = {
  'index.translog.durability': 'request',
  'index.default_pipeline': '_none',
  'index.final_pipeline': '_none',
  'index.mapping.ignore_malformed': 'false',
} as const;

/** What stands in an index's `_meta`. */
export interface IndexMeta {
  readonly event_version?: unknown;
  /** Of an index that a replay had made, or made use of, beyond retention: it is kept until then (RFC 3339). */
  readonly expires_at?: unknown;
}

/** How a daily index is made. `dynamic: false`: a new field never changes the mapping, and so never breaks it. */
export function indexDefinition(
  settings: IndexSettings,
  moreAliases: Readonly<Record<string, object>> = {},
  moreMeta: IndexMeta = {},
): object {
  return {
    aliases: { [settings.name]: {}, ...moreAliases },
    settings: { 'index.number_of_shards': settings.shards, 'index.number_of_replicas': settings.replicas, ...keepingSettings },
    mappings: { _meta: { event_version: SERVICE_EVENT_VERSION, ...moreMeta }, dynamic: false, properties: fieldMappings },
  };
}

/**
 * The index template of the daily indices. The indexer makes its indices without it; it is for those that others make, by a copy
 * or by a write of their own: without it OpenSearch would guess their mapping.
 */
export function indexTemplate(settings: IndexSettings): object {
  return { index_patterns: [`${settings.name}-*.*.*`], priority: 200, template: indexDefinition(settings) };
}
