import { describe, expect, it } from 'vitest';
import { eventKind, serviceEventHeaders } from './event-headers.ts';

const headers = (type: string | null, version: string | null) => [
  ['other', Buffer.from('x')] as const,
  ...(type === null ? [] : [['event.type', Buffer.from(type)] as const]),
  ...(version === null ? [] : [['event.version', Buffer.from(version)] as const]),
];

describe('eventKind', () => {
  it('knows what we write', () => {
    expect(eventKind(serviceEventHeaders)).toBe('current');
  });

  it.each([
    [null, null, 'current'],
    ['service-event', null, 'current'],
    [null, '1.0', 'current'],
    ['service-event', '1.7', 'newer-minor'],
    ['service-event', '2.0', 'newer-major'],
    ['service-event', '10.0', 'newer-major'],
    ['service-event', '0.9', 'unknown-type'],
    ['service-event', 'latest', 'unknown-type'],
    ['service-event', '', 'unknown-type'],
    ['audit-event', '1.0', 'unknown-type'],
    ['', '1.0', 'unknown-type'],
  ])('of type %s and version %s is %s', (type, version, kind) => {
    expect(eventKind(headers(type, version))).toBe(kind);
  });

  it('takes the last of repeated headers and a null value for an empty one', () => {
    expect(eventKind([...headers('audit-event', '9.9'), ...serviceEventHeaders])).toBe('current');
    expect(eventKind([['event.type', null]])).toBe('unknown-type');
  });
});
