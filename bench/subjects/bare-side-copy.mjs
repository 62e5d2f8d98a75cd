// The same loop with the headers that a record of a side channel has besides its own: where it stood at first, and its plan.
import { measureCopy } from '../lib/copy.mjs';

const CONSTANT = [
  { 'origin.topic': Buffer.from('service-events') },
  { 'origin.incarnation': Buffer.from('AbCdEfGh') },
  { 'replay.plan': Buffer.from('1-bench000') },
];

await measureCopy(({ headers, partition, offset, timestamp }) => [
  ...CONSTANT,
  { 'origin.partition': Buffer.from(String(partition)) },
  { 'origin.offset': Buffer.from(String(offset)) },
  { 'origin.timestamp': Buffer.from(String(timestamp)) },
  ...headers,
]);
