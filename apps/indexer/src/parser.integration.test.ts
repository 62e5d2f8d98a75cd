import { afterAll, expect, it } from 'vitest';
import { IncarnationGate } from './incarnation-gate.ts';
import { IndexSink } from './index-sink.ts';
import type { Parser } from './parser.ts';
import { batchOf } from './testing/batch.ts';
import { testSearch } from './testing/search.ts';

const T = '"timestamp":"2026-01-31T23:59:59.5Z","service":"web"';
const search = testSearch();

afterAll(() => search.remove());

it('a parser makes events of another format, skips and buries; a refused one is indexed by its typed fields, as any', async () => {
  const parser: Parser = ({ value }) => {
    const text = value?.toString() ?? '';
    if (text.startsWith('#')) return { kind: 'skipped', reason: 'comment' };
    if (text === '') return { kind: 'dead', reason: 'empty-line' };
    const [service, bytes] = text.split(' ');
    const twice = text.endsWith('twice') ? ',"message":"a","message":"b"' : '';
    return { kind: 'event', value: `{${T.replace('web', service ?? '')},"bytes":${bytes}${twice}}` };
  };
  const parsing = new IndexSink(
    { indexName: search.name, retentionDays: 14, maxBulkBytes: 1_000_000, bulksAtOnce: 4 },
    { client: search.client, indices: search.indices, incarnations: new IncarnationGate(async () => 'AbCd-_12'), nowMs: Date.now, parser },
  );
  const at = 0;
  const headers = [['event.type', Buffer.from('of-another-system')]] as const;
  const values = ['shop 12', '# nothing', '', 'cart 13 twice'];
  const outcomes = await parsing.write(
    batchOf(
      values.map((value) => ({ value, headers })),
      { topic: 'service-events', partition: at, incarnation: 'AbCd-_12' },
    ),
    new AbortController().signal,
  );
  expect(outcomes).toMatchObject([
    { kind: 'stored' },
    { kind: 'skipped', reason: 'comment' },
    { kind: 'dead', reason: 'empty-line' },
    { kind: 'stored' },
  ]);
  const documents = [...(await search.documents(at))].map(([, document]) => document);
  expect(documents).toMatchObject([
    { service: 'shop', bytes: 12 },
    { service: 'cart', bytes: 13, event_raw: expect.stringContaining('"message":"b"') },
  ]);
});
