import { expect, it } from 'vitest';
import { Cancelled, Governor, type GovernorLimits, type GovernorPorts } from './governor.ts';

interface Said {
  unread: number;
  isRead: boolean;
  isCancelled: boolean;
  late: string | undefined;
  nowMs: number;
  fault: Error | undefined;
}

function governed(limits: Partial<GovernorLimits> = {}) {
  const said: Said = { unread: 0, isRead: true, isCancelled: false, late: undefined, nowMs: 0, fault: undefined };
  const notes: string[] = [];
  const stop = new AbortController();
  const ports: GovernorPorts = {
    unread: async () => {
      if (said.fault !== undefined) throw said.fault;
      return said.unread;
    },
    isRead: async () => said.isRead,
    isCancelled: async () => said.isCancelled,
    save: async () => {},
    guard: { check: async () => said.late },
    note: (sentence) => notes.push(sentence),
    nowMs: () => said.nowMs,
  };
  const governor = new Governor(
    ports,
    { maxUnread: 100, bytesPerSecond: Number.POSITIVE_INFINITY, consumer: 'indexer', ...limits },
    stop.signal,
  );
  return { said, notes, stop, governor };
}

/** Whether so much is let through at once; an answer that comes later is waited for by nobody. */
async function passes(governor: Governor, records: number, bytes = 0): Promise<boolean> {
  const admitted = governor.admit(records, bytes).then(() => true);
  // Safe: one that is stopped later is rejected behind the test.
  admitted.catch(() => {});
  return await Promise.race([admitted, new Promise<boolean>((resolve) => setTimeout(resolve, 60, false))]);
}

it('lets no more through than the consumer has room for, counting what is on its way', async () => {
  const { said, governor, stop } = governed();
  // Before it has looked it knows of no room.
  expect(await passes(governor, 1)).toBe(false);
  stop.abort();

  const second = governed();
  await second.governor.look();
  expect(await passes(second.governor, 60)).toBe(true);
  // Those 60 may be in the log or not: a look that saw none of them gives no room for them twice.
  await second.governor.look();
  expect(await passes(second.governor, 40)).toBe(true);
  second.governor.acknowledged(100);
  second.said.unread = 100;
  await second.governor.look();
  expect(await passes(second.governor, 1)).toBe(false);
  second.said.unread = 30;
  await second.governor.look();
  second.stop.abort();
  expect(said.unread).toBe(0);
});

it('a consumer that is away is waited for, said once, and gone on with; one that is only slow is not told of', async () => {
  const { said, notes, governor } = governed();
  await governor.look();
  await governor.admit(100, 0);
  governor.acknowledged(100);
  said.unread = 100;
  const next = governor.admit(50, 0);
  await governor.look();
  expect(notes).toEqual([]);
  said.isRead = false;
  await governor.look();
  await governor.look();
  expect(notes).toEqual([
    'Nothing reads the side channel of indexer, where 100 records wait (--max-unread 100): the replay goes on as soon as indexer runs.',
  ]);
  said.isRead = true;
  said.unread = 10;
  await governor.look();
  await next;
  expect(notes.slice(1)).toEqual(['The replay goes on.']);
});

it('while a live group is late nothing is let through', async () => {
  const { said, notes, governor } = governed();
  said.late = 'Waiting for the live group indexer.';
  await governor.look();
  const next = governor.admit(1, 0);
  expect(await Promise.race([next.then(() => 'through'), new Promise((resolve) => setTimeout(resolve, 60, 'waits'))])).toBe('waits');
  said.late = undefined;
  await governor.look();
  await next;
  expect(notes).toEqual(['Waiting for the live group indexer.', 'The replay goes on.']);
});

it('lets so many bytes a second through, and a chunk that is larger is paid off first', async () => {
  const { said, governor, stop } = governed({ bytesPerSecond: 1000, maxUnread: 1e6 });
  await governor.look();
  expect(await passes(governor, 1, 2500)).toBe(true);
  expect(await passes(governor, 1, 1)).toBe(false);
  stop.abort();
  // Each second pays for 1000: behind three seconds nothing is owed any more.
  const other = governed({ bytesPerSecond: 1000, maxUnread: 1e6 });
  await other.governor.look();
  await other.governor.admit(1, 2500);
  other.said.nowMs = 1400;
  const next = other.governor.admit(1, 1);
  expect(await Promise.race([next.then(() => 'through'), new Promise((resolve) => setTimeout(resolve, 60, 'waits'))])).toBe('waits');
  other.said.nowMs = 1600;
  await next;
  expect(said.nowMs).toBe(0);
});

it('a cancelled run is let nothing through any more, and what can not be looked up is told once and looked up again', async () => {
  const { said, notes, governor } = governed();
  said.fault = new Error('Kafka is away.');
  await governor.look();
  await governor.look();
  expect(notes).toEqual(['Kafka is away. It is tried again.']);
  said.fault = undefined;
  await governor.look();
  expect(await passes(governor, 1)).toBe(true);
  said.isCancelled = true;
  await governor.look();
  await expect(governor.admit(1, 0)).rejects.toThrow(Cancelled);
});
