import { CANARY_SERVICE } from '@tailrace/events';
import { describe, expect, it } from 'vitest';
import { type Cell, REFUSED_GROUP } from '../messages/message.ts';
import type { Rule } from '../rules/rule.ts';
import { LATENESS_MS, PANE_MS, plainRule, ruleSet } from '../testing/plain-rules.ts';
import { LanePanes } from './lane-panes.ts';

const SOURCE = { topic: 'service-events', incarnation: 'abcdefgh', partition: 3 };
const T0 = Date.parse('2026-01-01T00:00:00Z');
const iso = (ms: number) => new Date(ms).toISOString();
const at = (ms: number, service = 'shop') => ({ timestamp: iso(T0 + ms), service });

function laneOf(rules: readonly Rule[] = [plainRule()], fromMs = T0): LanePanes {
  return new LanePanes(SOURCE, ruleSet(rules), { fromMs });
}

/** What the cells say, in short: pane (ms after T0), group, events. */
function told(cells: readonly Cell[]): [number, string, number][] {
  return cells.map(({ paneMs, group, partial }): [number, string, number] => [paneMs - T0, group, partial[1]]);
}

describe('LanePanes', () => {
  it('publishes the cumulative cells of what changed, with the offset behind all that counts', () => {
    const lane = laneOf();
    lane.fold(10, T0 + 1000, at(500));
    lane.fold(11, T0 + 2000, at(900));
    expect(lane.changed()).toEqual([
      {
        rule: { name: 'events-by-service', version: 'v1' },
        group: '["shop"]',
        paneMs: T0,
        source: SOURCE,
        offset: 12,
        brokerMs: T0 + 2000,
        eventMs: T0 + 900,
        partial: ['count', 2],
      },
    ]);
    expect(lane.changed()).toEqual([]);
    lane.fold(12, T0 + 3000, at(100));
    lane.fold(13, T0 + 3000, at(100, 'cart'));
    lane.fold(14, T0 + 11_000, at(10_000));
    expect(told(lane.changed())).toEqual([
      [0, '["shop"]', 3],
      [0, '["cart"]', 1],
      [10_000, '["shop"]', 1],
    ]);
    expect(lane.next).toBe(15);
  });

  it('takes the broker time where the own time is later, unreadable or absent', () => {
    const lane = laneOf();
    lane.fold(0, T0 + 1000, { service: 'a', timestamp: '2099-01-01T00:00:00Z' });
    lane.fold(1, T0 + 1000, { service: 'b', timestamp: '2026-02-30T00:00:00Z' });
    lane.fold(2, T0 + 1000, { service: 'c', timestamp: 5 });
    lane.fold(3, T0 + 1000, { service: 'd' });
    const cells = lane.changed();
    expect(told(cells).map(([pane]) => pane)).toEqual([0, 0, 0, 0]);
    expect(cells.map(({ eventMs }) => eventMs)).toEqual(Array(4).fill(T0 + 1000));
    expect(lane.mark(undefined, false).late).toBe(0);
  });

  it('closes a pane when B - lateness reaches its end, publishes what changed in it, and never opens it again', () => {
    const lane = laneOf();
    lane.fold(0, T0 + 1000, at(0));
    lane.fold(1, T0 + PANE_MS + LATENESS_MS - 1, at(9_999));
    expect(lane.mark(undefined, false).late).toBe(0);
    lane.fold(2, T0 + PANE_MS + LATENESS_MS, at(9_999));
    expect(told(lane.changed())).toEqual([[0, '["shop"]', 2]]);
    expect(lane.mark(undefined, false)).toMatchObject({ late: 1, watermarkMs: T0 + PANE_MS });
    // The broker's clock steps back: B does not.
    lane.fold(3, T0 + 5000, at(5000));
    expect(lane.changed()).toEqual([]);
    expect(lane.mark(undefined, false)).toMatchObject({ late: 2, watermarkMs: T0 + PANE_MS });
  });

  it('holds no pane that starts before it began to read', () => {
    const lane = laneOf([plainRule()], T0 + 1);
    lane.fold(5, T0 + 10_500, at(9_000));
    lane.fold(6, T0 + 10_500, at(10_000));
    expect(told(lane.changed())).toEqual([[10_000, '["shop"]', 1]]);
    expect(lane.mark(undefined, false)).toMatchObject({ fromMs: T0 + 1, late: 0 });
  });

  it('tells a watermark only for what it told cells of', () => {
    const lane = laneOf();
    expect(lane.mark(undefined, true)).toMatchObject({ watermarkMs: T0, unread: true });
    lane.fold(0, T0 + 200_000, at(200_000));
    expect(lane.mark(undefined, false).watermarkMs).toBe(T0);
    lane.changed();
    expect(lane.mark(undefined, false)).toMatchObject({ watermarkMs: T0 + 200_000 - LATENESS_MS, unread: false });
  });

  it('goes on in time at the end of the log, in the watermark only', () => {
    const lane = laneOf();
    lane.fold(0, T0 + 1000, at(0));
    lane.changed();
    expect(lane.mark(T0 + 500_000, false).watermarkMs).toBe(T0 + 500_000 - LATENESS_MS);
    expect(lane.mark(T0, false).watermarkMs).toBe(T0);
    lane.fold(1, T0 + 2000, at(0));
    expect(told(lane.changed())).toEqual([[0, '["shop"]', 2]]);
  });

  it('counts a value that is no object for time and offset only', () => {
    const lane = laneOf();
    lane.fold(7, T0 + 100_000, undefined);
    expect(lane.changed()).toEqual([]);
    expect(lane.next).toBe(8);
    expect(lane.mark(undefined, false).watermarkMs).toBe(T0 + 100_000 - LATENESS_MS);
  });

  it('counts groups above the bound of a pane as refused, by the order of the records', () => {
    const lane = laneOf([plainRule({ maxGroups: 2 })]);
    for (const [i, service] of ['a', 'b', 'c', 'a', 'd'].entries()) lane.fold(i, T0 + 1000, at(0, service));
    expect(told(lane.changed())).toEqual([
      [0, '["a"]', 2],
      [0, '["b"]', 1],
      [0, REFUSED_GROUP, 2],
    ]);
    lane.fold(5, T0 + 10_000, at(10_000, 'c'));
    expect(told(lane.changed())).toEqual([[10_000, '["c"]', 1]]);
  });

  it('leaves events of the canary to its rule, and that rule to them', () => {
    const lane = laneOf([plainRule(), plainRule({ name: CANARY_SERVICE })]);
    lane.fold(0, T0 + 1000, at(0, CANARY_SERVICE));
    lane.fold(1, T0 + 1000, at(0, 'shop'));
    expect(lane.changed().map(({ rule, group }) => [rule.name, group])).toEqual([
      [CANARY_SERVICE, '["tailrace.canary"]'],
      ['events-by-service', '["shop"]'],
    ]);
  });

  describe('a reload', () => {
    it('counts a new version from the first pane above B on, and goes on with a known one', () => {
      const lane = laneOf([plainRule({ name: 'kept' }), plainRule({ name: 'changed' })]);
      lane.fold(0, T0 + 15_000, at(5_000));
      lane.changed();
      lane.setRules(ruleSet([plainRule({ name: 'changed', version: 'v2' }), plainRule({ name: 'kept' }), plainRule({ name: 'new' })]));
      lane.fold(1, T0 + 19_999, at(5_000));
      lane.fold(2, T0 + 20_000, at(20_000));
      expect(lane.changed().map(({ rule, paneMs, partial }) => [rule.name, rule.version, paneMs - T0, partial[1]])).toEqual([
        ['kept', 'v1', 0, 2],
        ['changed', 'v2', 20_000, 1],
        ['kept', 'v1', 20_000, 1],
        ['new', 'v1', 20_000, 1],
      ]);
      expect([...lane.mark(undefined, false).ruleFromMs]).toEqual([
        ['changed', T0 + 20_000],
        ['new', T0 + 20_000],
      ]);
      expect(lane.ruleIds.map(({ name, version }) => `${name} ${version}`)).toEqual(['changed v2', 'kept v1', 'new v1']);
    });

    it('drops what a rule that is gone has counted, told or not', () => {
      const lane = laneOf([plainRule(), plainRule({ name: 'gone' })]);
      lane.fold(0, T0 + 1000, at(0));
      lane.setRules(ruleSet([plainRule()]));
      expect(lane.changed().map(({ rule }) => rule.name)).toEqual(['events-by-service']);
    });

    it('keeps the cells of a rule whose place among those that group alike changed', () => {
      const lane = laneOf([plainRule({ name: 'gone' }), plainRule({ name: 'other', groupBy: [] }), plainRule({ name: 'kept' })]);
      lane.fold(0, T0 + 1000, at(0));
      lane.setRules(ruleSet([plainRule({ name: 'kept' }), plainRule({ name: 'new' }), plainRule({ name: 'other', groupBy: [] })]));
      lane.fold(1, T0 + 1000, at(0));
      const cells = lane.changed();
      expect(cells.map(({ rule, partial }) => [rule.name, partial[1]])).toEqual([
        ['kept', 2],
        ['other', 2],
      ]);
    });

    it('takes over what else changed in a rule of the same version', () => {
      const lane = laneOf([plainRule({ maxGroups: 1 })]);
      lane.fold(0, T0 + 1000, at(0, 'a'));
      lane.setRules(ruleSet([plainRule({ maxGroups: 2 })]));
      lane.fold(1, T0 + 1000, at(0, 'b'));
      expect(told(lane.changed())).toEqual([
        [0, '["a"]', 1],
        [0, '["b"]', 1],
      ]);
    });
  });
});
