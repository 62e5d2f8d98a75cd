import { expect, it } from 'vitest';
import { type RoomUser, type SpoolDisk, SpoolRoom } from './spool-room.ts';

const MIB = 2 ** 20;

class Lane implements RoomUser {
  open = 0;
  closed = 0;
  closing = false;
  openBytes(): number {
    return this.closing ? 0 : this.open;
  }
  heldBytes(): number {
    return this.open + this.closed;
  }
  closeForRoom(): void {
    this.closing = true;
  }
}

function lanes(room: SpoolRoom, ...open: number[]): Lane[] {
  return open.map((bytes) => {
    const lane = new Lane();
    lane.open = bytes * MIB;
    room.add(lane);
    return lane;
  });
}

const disk = (freeBytes: () => number): SpoolDisk => ({ folder: '/data', freeBytes: async () => freeBytes() });
const PLENTY = disk(() => 2 ** 40);

it('closes the largest open objects, and no more of them than it must', () => {
  const room = new SpoolRoom(100 * MIB, PLENTY);
  const all = lanes(room, 10, 30, 5, 20);
  room.changed();
  expect(all.map(({ closing }) => closing)).toEqual([false, true, false, false]);
  for (const lane of all) lane.open *= 3;
  room.changed();
  expect(all.map(({ closing }) => closing)).toEqual([false, true, false, true]);
});

it('is full at its limit, whatever of it is open or closed, and tells those who wait of each change', async () => {
  const room = new SpoolRoom(100 * MIB, PLENTY);
  const [lane] = lanes(room, 10) as [Lane];
  lane.closed = 89 * MIB;
  expect(await room.full()).toBeUndefined();
  lane.closed = 90 * MIB;
  expect(await room.full()).toEqual({ of: 'limit', sentence: 'the spool holds 100 MiB, all that ARCHIVER_MAX_SPOOL_MB allows' });
  const waited = room.change();
  room.remove(lane);
  await waited;
  expect(await room.full()).toBeUndefined();
});

it('keeps on the disk what the largest object needs to be written, and closes what is open to free it', async () => {
  let free = 200;
  const room = new SpoolRoom(
    1000 * MIB,
    disk(() => free * MIB),
  );
  const [small, large] = lanes(room, 10, 120) as [Lane, Lane];
  expect(await room.full()).toBeUndefined();
  free = 180;
  expect(await room.full()).toEqual({
    of: 'disk',
    sentence: expect.stringContaining('the disk of /data (ARCHIVER_DATA_DIR) has 180 MiB free, and 184 MiB are needed'),
  });
  expect([small.closing, large.closing]).toEqual([true, true]);
});
