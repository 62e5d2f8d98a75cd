/** The one description of a service event. The type, validator, JSON Schema, index mapping, Parquet columns and the docs page are derived from it. */
export const serviceEventFields = [
  {
    name: 'timestamp',
    kind: 'instant',
    required: true,
    about: 'When it happened, by the service’s own clock. RFC 3339, up to nanoseconds.',
  },
  {
    name: 'customer_id',
    kind: 'string',
    required: false,
    minLength: 1,
    maxLength: 128,
    about: 'Whose event it is. The key of the record: order holds per customer.',
  },
  { name: 'service', kind: 'string', required: true, minLength: 1, maxLength: 128, about: 'The service that posts it.' },
  { name: 'user_id', kind: 'string', required: false, maxLength: 128, about: 'The user within the customer.' },
  { name: 'endpoint', kind: 'string', required: false, maxLength: 2048, about: 'The path or operation that was called.' },
  { name: 'region', kind: 'string', required: false, maxLength: 64, about: 'The region in which the service runs.' },
  { name: 'host', kind: 'string', required: false, maxLength: 255, about: 'The host on which the service runs.' },
  { name: 'latency_ms', kind: 'number', required: false, min: 0, about: 'How long the request took, in milliseconds.' },
  { name: 'status_code', kind: 'integer', required: false, min: 100, max: 599, about: 'The HTTP status of the answer.' },
  { name: 'bytes', kind: 'integer', required: false, min: 0, max: Number.MAX_SAFE_INTEGER, about: 'The size of the answer, in bytes.' },
  {
    name: 'level',
    kind: 'enum',
    required: false,
    values: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
    about: 'How serious it is.',
  },
  { name: 'message', kind: 'string', required: false, fullText: true, about: 'Free text.' },
  { name: 'trace_id', kind: 'string', required: false, about: 'The trace to which it belongs.' },
  { name: 'span_id', kind: 'string', required: false, about: 'The span within the trace.' },
  { name: 'attributes', kind: 'object', required: false, about: 'Anything else the service wants to keep.' },
] as const satisfies readonly Field[];

/**
 * A field of an event. `minLength` and `maxLength` count characters (code points, as JSON Schema does); `min` and `max` are
 * inclusive. `fullText`: searched by its words, not as a whole.
 */
export type Field = { readonly name: string; readonly required: boolean; readonly about: string } & (
  | { readonly kind: 'instant' | 'object' }
  | { readonly kind: 'string'; readonly minLength?: number; readonly maxLength?: number; readonly fullText?: true }
  | { readonly kind: 'number'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
);

/** The largest event that is accepted by default, in bytes. */
export const MAX_EVENT_BYTES = 256 * 1024;
