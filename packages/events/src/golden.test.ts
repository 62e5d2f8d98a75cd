import { describe, expect, it } from 'vitest';
import { eventKind } from './event-headers.ts';
import { type Field, serviceEventFields } from './fields.ts';
import { growthProblems } from './growth.ts';
import { keyOf } from './keys.ts';
import { goldenFile, goldenRecords, releasedVersions } from './testing/golden.ts';
import { checkEventBytes } from './validate.ts';

describe('golden records', () => {
  it.each(goldenRecords().map((record) => [`${record.version}, ${record.about}`, record] as const))('of version %s decode', (_, record) => {
    expect(eventKind(record.headers)).toBe('current');
    const checked = checkEventBytes(record.value);
    if ('problem' in checked) throw new Error(`${checked.problem.field}: ${checked.problem.reason}`);
    if (record.key !== null) expect(keyOf(checked.event)).toEqual(record.key);
  });

  it('are there for version 1.0', () => {
    expect(releasedVersions()).toContain('1.0');
    expect(goldenRecords().length).toBeGreaterThan(15);
  });
});

describe('the field table', () => {
  it.each(releasedVersions())('has only grown since version %s', (version) => {
    expect(growthProblems(JSON.parse(goldenFile(version, 'fields.json')) as Field[], serviceEventFields)).toEqual([]);
  });

  const now: readonly Field[] = serviceEventFields;
  const changed = (name: string, change: object) => now.map((field) => (field.name === name ? ({ ...field, ...change } as Field) : field));
  const extra = { name: 'tenant', kind: 'string', about: '', required: false } as const;

  it.each([
    ['a new optional field at the end', [...now, extra], []],
    ['a longer string', changed('region', { maxLength: 100 }), []],
    ['a field that is no longer required', changed('service', { required: false }), []],
    ['one more level', changed('level', { values: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'panic'] }), []],
    ['a removed field', now.slice(0, -1), ['attributes: may not be removed, renamed or moved']],
    ['a renamed field', changed('host', { name: 'hostname' }), ['host: may not be removed, renamed or moved']],
    ['a retyped field', changed('bytes', { kind: 'number' }), ['bytes: may not change from integer to number']],
    ['a field made required', changed('host', { required: true }), ['host: may not be made required']],
    ['a shorter string', changed('region', { maxLength: 10 }), ['region: maxLength may not get tighter']],
    ['a bound where there was none', changed('message', { maxLength: 10 }), ['message: maxLength may not get tighter']],
    ['a higher minimum', changed('latency_ms', { min: 1 }), ['latency_ms: min may not get tighter']],
    ['a level less', changed('level', { values: ['info'] }), ['level: the value trace, debug, warn, error, fatal may not be removed']],
    ['a new field that is required', [...now, { ...extra, required: true }], ['tenant: a new field must be optional']],
  ] as const)('judges %s', (_, later, problems) => {
    expect(growthProblems(now, later)).toEqual(problems);
  });
});
