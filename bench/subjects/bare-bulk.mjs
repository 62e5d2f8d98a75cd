// A bare loop, JSON.parse of each value, and `client.bulk` with a ready body.
import { Client } from '@opensearch-project/opensearch';
import { readAll } from '../lib/bare-consumer.mjs';
import { measured, task } from '../lib/subject.mjs';

const given = task();
const LINE_FEED = Buffer.from('\n');

await measured((firstRecord) => {
  const client = new Client({ node: given.environment.OPENSEARCH_URL });
  return readAll(given, async (messages) => {
    firstRecord();
    const lines = [];
    for (const { topic, partition, offset, value } of messages) {
      const event = JSON.parse(value.toString());
      if (typeof event.timestamp !== 'string') throw new Error('no event');
      lines.push(Buffer.from(`{"index":{"_index":"${given.group}","_id":"${topic}-${partition}-${offset}"}}\n`), value, LINE_FEED);
    }
    const { body } = await client.bulk({ body: Buffer.concat(lines) });
    if (body.errors || body.items.length !== messages.length) throw new Error(`the bulk failed: ${JSON.stringify(body).slice(0, 500)}`);
  });
});
