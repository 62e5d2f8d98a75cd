/**
 * Integration tests that work on what all of them share (the declared topics and groups, settings of the whole OpenSearch), as folders and
 * files: they run one after another.
 */
export const SERIAL_TESTS = [
  'apps/alert-processor/src/watch/',
  'apps/alert-processor/src/main.integration.test.ts',
  'apps/indexer/src/',
  'apps/cli/src/',
  'apps/archiver/src/main.integration.test.ts',
  'apps/ingest-gateway/src/main.integration.test.ts',
];
