import { describe, expect, test } from 'vitest';
import type { MemberView } from '../admin/group-view.ts';
import { AssignmentWatch } from './assignment-watch.ts';

const LATE = { severity: 5, facility: 'REQTMOUT', message: 'Timed out ConsumerGroupHeartbeatRequest in flight (after 1001ms, timeout #0)' };

function view(assignment: readonly string[], target: readonly string[] = assignment): MemberView {
  return { assignment: new Set(assignment), target: new Set(target) };
}

/** A watch whose clock runs at once, and what it did until it stopped looking. */
async function watch(looks: readonly (readonly MemberView[] | Error)[], owned: () => readonly string[] | undefined, lines = [LATE]) {
  let looked = 0;
  let rejoins = 0;
  let dead = 0;
  let sleeps = 0;
  const made = new AssignmentWatch({
    members: async () => {
      const look = looks[Math.min(looked++, looks.length - 1)];
      if (look === undefined || look instanceof Error) throw look ?? new Error('no look was expected');
      return look;
    },
    owned: () => {
      const own = owned();
      return own === undefined ? undefined : new Set(own);
    },
    rejoin: () => void rejoins++,
    dead: () => void dead++,
    log: () => {},
    clock: {
      sleep: async () => {
        if (++sleeps > 50) made.close();
      },
    },
  });
  for (const line of lines) made.heard(line);
  await new Promise((resolve) => setTimeout(resolve, 20));
  return dead === 0 ? { looked, rejoins } : { looked, rejoins, dead };
}

describe('an answer to a heartbeat that came too late', () => {
  test('that told to give partitions back: the member joins again, on the second look', async () => {
    const stuck = [view(['t/0', 't/1', 't/2'], ['t/0']), view(['t/3'], ['t/1', 't/2', 't/3'])];
    expect(await watch([stuck], () => ['t/0', 't/1', 't/2'])).toEqual({ looked: 3, rejoins: 1 });
  });

  test('that told of partitions to take: the member joins again', async () => {
    const stuck = [view(['t/0', 't/1']), view(['t/2', 't/3'])];
    expect(await watch([stuck], () => ['t/0'])).toEqual({ looked: 3, rejoins: 1 });
  });

  test('that told nothing: the member stays, also while others still have to give back what it is to own', async () => {
    expect(await watch([[view(['t/0'], ['t/0', 't/1']), view(['t/1'], [])]], () => ['t/0'])).toEqual({ looked: 1, rejoins: 0 });
  });

  test('in the middle of a rebalance that goes on by itself: the member stays', async () => {
    const before = [view(['t/0', 't/1'], ['t/0'])];
    const after = [view(['t/0'])];
    let owned = ['t/0', 't/1'];
    expect(
      await watch([before, after], () => {
        const now = owned;
        owned = ['t/0'];
        return now;
      }),
    ).toEqual({ looked: 2, rejoins: 0 });
  });

  test('while partitions are being given back: it is looked at behind that', async () => {
    const answers: (readonly string[] | undefined)[] = [undefined, undefined, ['t/0']];
    expect(await watch([[view(['t/0'])]], () => answers.shift())).toEqual({ looked: 3, rejoins: 0 });
  });

  test('with the coordinator away: it is looked at again, but not for ever', async () => {
    const away = new Error('away');
    expect(await watch([away, away, [view(['t/0'])]], () => ['t/0'])).toEqual({ looked: 3, rejoins: 0 });
    expect(await watch([away], () => ['t/0'])).toEqual({ looked: 15, rejoins: 0 });
  });

  test('behind which the connection was lost too, is mended by the client: made to join again meanwhile it never came back', async () => {
    const lost = {
      severity: 4,
      facility: 'FAIL',
      message: '[thrd:GroupCoordinator]: GroupCoordinator: ApiVersionRequest failed: Local: Timed out',
    };
    const stuck = [view(['t/0'], [])];
    expect(await watch([stuck], () => ['t/0'], [LATE, lost])).toEqual({ looked: 1, rejoins: 0 });
    expect(await watch([stuck], () => ['t/0'], [LATE, lost, LATE])).toEqual({ looked: 3, rejoins: 1 });
    expect(await watch([stuck], () => ['t/0'], [LATE, { ...lost, message: '127.0.0.1:9/2: Disconnected' }])).toEqual({
      looked: 3,
      rejoins: 1,
    });
  });

  test('of a group that has forgotten all its members: the client hears of it by itself', async () => {
    expect(await watch([[]], () => ['t/0'])).toEqual({ looked: 1, rejoins: 0 });
  });

  test('a client that stays outside of its group after it was made to join again is dead', async () => {
    const stuck = [view(['t/0'], [])];
    const others = [view(['t/0', 't/1'])];
    const looks = [stuck, stuck, ...Array.from({ length: 3 }, () => new Error('away')), others];
    let calls = 0;
    const own = () => (++calls <= 2 ? ['t/0'] : []);
    expect(await watch(looks, own)).toEqual({ looked: 20, rejoins: 1, dead: 1 });
  });

  test('a client that owns nothing beside others of which one owns nothing may be that one', async () => {
    const stuck = [view(['t/0'], [])];
    let calls = 0;
    const own = () => (++calls <= 2 ? ['t/0'] : []);
    expect(await watch([stuck, stuck, [view(['t/0']), view([])]], own)).toEqual({ looked: 3, rejoins: 1 });
  });

  test('any other line of the client is none', async () => {
    expect(await watch([], () => [], [{ ...LATE, message: 'Timed out FetchRequest in flight' }])).toEqual({ looked: 0, rejoins: 0 });
  });
});
