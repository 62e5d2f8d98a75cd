import { expect, it } from 'vitest';
import { UnreachableError } from './unreachable.ts';

const silent = Object.assign(new Error('timed out'), { code: 'PLT_KFK_TIMEOUT' });

it.each([
  ['a:1', 'it may be busy, or hang: try again, and see whether it runs'],
  ['a:1,b:2', 'one of them may be silent, and the others take over from it: try again, and see whether all of them run'],
])('of a server that is there and says nothing (%s) it is not said that it has ended', (address, todo) => {
  const { message } = new UnreachableError('Kafka', 'KAFKA_BOOTSTRAP_SERVERS', address, 'endpoints.json', silent);
  expect(message).toBe(`Kafka does not answer at ${address} (KAFKA_BOOTSTRAP_SERVERS in endpoints.json; PLT_KFK_TIMEOUT): ${todo}.`);
});
