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

/** What the indexer adds where an event can not be indexed as it is. `event_raw` (the whole event as text) is kept, not searched. */
const repairMappings = {
  timestamp_raw: { type: 'keyword', ignore_above: 1024 },
  raw_reason: { type: 'keyword', ignore_above: 1024 },
} as const;

/**
 * The index template of the daily indices. `dynamic: false`: a new field never changes the mapping, and so never breaks it.
 * `translog.durability: request`: with `async` a kill right after the answer loses what was acknowledged.
 */
export function indexTemplate(settings: IndexSettings): object {
  return {
    index_patterns: [`${settings.name}-*.*.*`],
    priority: 200,
    template: {
      aliases: { [settings.name]: {} },
      settings: {
        'index.number_of_shards': settings.shards,
        'index.number_of_replicas': settings.replicas,
        'index.translog.durability': 'request',
      },
      mappings: {
        _meta: { event_version: SERVICE_EVENT_VERSION },
        dynamic: false,
        properties: { ...eventFieldMappings, ...recordMappings, ...repairMappings },
      },
    },
  };
}
