import { expect, test } from 'vitest';
import { MAX_SILENCES, Silences } from '../decide/silences.ts';
import type { Silence } from '../messages/message.ts';
import { checkRoom } from './silence-request.ts';

test('the silence that the processors would not take is refused with a sentence', () => {
  const silences = new Silences();
  const held: { readonly partition: number; readonly silence: Silence }[] = [];
  for (let each = 0; each < MAX_SILENCES; each += 1) {
    expect(() => checkRoom(held)).not.toThrow();
    silences.accept({ id: `s-${each}`, fromMs: 0, untilMs: 1000, comment: 'x' }, 1);
    for (const { silence } of silences.takeChanged()) held.push({ partition: 0, silence }, { partition: 1, silence });
  }
  expect(held).toHaveLength(2 * MAX_SILENCES);
  silences.accept({ id: 's-more', fromMs: 0, untilMs: 1000, comment: 'x' }, 1);
  expect(silences.takeChanged()).toEqual([]);
  expect(() => checkRoom(held)).toThrow('There are 1000 silences, and the processors hold 1000 at most');
});
