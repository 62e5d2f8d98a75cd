import { expect, test } from 'vitest';
import { lookAt } from './dead-letters.ts';

test('the command that shows a dead record can be pasted: nothing in it ends the shell’s quotes, nor those of the JSON of /readyz', () => {
  const command = lookAt({ origin: { topic: 'service-events', partition: 3, offset: 42, incarnation: 'abcdefgh', timestampMs: 0 } });
  expect(command).toBe(
    `npx tailrace lake query "SELECT * FROM events e WHERE e.topic = 'service-events' AND e.partition = 3 AND e.offset = 42"`,
  );
});
