import type { MetricTable } from '@tailrace/kafka-kit';

/** The indexer's own figures, beside those of its consumer. */
export const INDEXER_METRICS = {
  fallbacks: {
    name: 'tailrace_indexer_fallback_documents_total',
    type: 'counter',
    unit: 'documents',
    labels: {},
    says: 'Events that OpenSearch refused as they are, and that were indexed by their typed fields.',
    respond: 'Look for `raw_reason` in the index: it says what each of them breaks (indexer.md).',
  },
} as const satisfies MetricTable;
