// A bare loop, JSON.parse of each value, and the client library's own bulk helper.
import { Client } from '@opensearch-project/opensearch';
import { readAll } from '../lib/bare-consumer.mjs';
import { measured, task } from '../lib/subject.mjs';

const given = task();

await measured((firstRecord) => {
  const client = new Client({ node: given.environment.OPENSEARCH_URL });
  return readAll(given, async (messages) => {
    firstRecord();
    let next = 0;
    const { failed } = await client.helpers.bulk({
      datasource: messages.map(({ value }) => JSON.parse(value.toString())),
      // Called once for each document, in order.
      onDocument: () => {
        const { topic, partition, offset } = messages[next++];
        return { index: { _index: given.group, _id: `${topic}-${partition}-${offset}` } };
      },
      onDrop: (dropped) => {
        throw new Error(`the helper dropped a document: ${JSON.stringify(dropped).slice(0, 500)}`);
      },
    });
    if (failed > 0) throw new Error(`${failed} documents failed`);
  });
});
