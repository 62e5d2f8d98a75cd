import { partitionForKey } from '@tailrace/events';
import { expect, test } from 'vitest';
import { partitionOf } from '../messages/codec.ts';
import type { Cell } from '../messages/message.ts';
import { LanePanes } from '../panes/lane-panes.ts';
import { plainRule, ruleSet } from '../testing/plain-rules.ts';
import { CanaryCustomers } from './canary-customers.ts';
import { CANARY_RULE, canaryGroup, withCanaryRule } from './canary-rule.ts';

const SOURCE = { topic: 'service-events', incarnation: 'AbCd-_12', partition: 3 };
const NOW = Date.UTC(2026, 0, 1, 12);

test('canaries are counted by their own rule alone, and nothing else is; what others post under their name is of no group', () => {
  const lane = new LanePanes(SOURCE, withCanaryRule(ruleSet([plainRule()])), { fromMs: NOW - 60_000 });
  const timestamp = new Date(NOW - 5).toISOString();
  lane.fold(1, NOW, { timestamp, service: 'tailrace.canary', customer_id: 'canary-7' });
  lane.fold(2, NOW, { timestamp, service: 'tailrace.canary', customer_id: 'cust_1' });
  lane.fold(3, NOW, { timestamp, service: 'tailrace.canary' });
  lane.fold(4, NOW, { timestamp, service: 'web', customer_id: 'canary-7' });
  const told = lane.changed().map(({ rule, group, eventMs, partial }: Cell) => [rule.name, group, eventMs, partial]);
  expect(told).toEqual([
    [CANARY_RULE, canaryGroup('canary-7'), NOW - 5, ['count', 1]],
    ['events-by-service', '["web"]', NOW - 5, ['count', 1]],
  ]);
});

test('a pane of another length is another version of it: partials of the two must not be merged', () => {
  const [short, long] = [1000, 60_000].map((paneMs) => withCanaryRule(ruleSet([], { paneMs })).rules[0]?.version);
  expect(short).not.toBe(long);
});

test('each partition has a customer whose canaries are decided by who posts them, and the same one for as long as that is so', () => {
  const customers = new CanaryCustomers(12);
  let owned = [7];
  const decidesHere = (group: string) => owned.includes(partitionOf(CANARY_RULE, group, 12));
  const names = () => Array.from({ length: 12 }, (_, partition) => customers.of(partition, decidesHere) ?? '');
  const before = names();
  before.forEach((name, partition) => {
    expect(partitionForKey(Buffer.from(name), 12)).toBe(partition);
    expect(partitionOf(CANARY_RULE, canaryGroup(name), 12)).toBe(7);
  });
  owned = [2, 7];
  expect(names()).toEqual(before);
  owned = [2];
  expect(names().every((name) => partitionOf(CANARY_RULE, canaryGroup(name), 12) === 2)).toBe(true);
  owned = [];
  expect(customers.of(0, decidesHere)).toBeUndefined();
});
