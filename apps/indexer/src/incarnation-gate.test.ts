import { describe, expect, it } from 'vitest';
import { IncarnationGate, TopicChanged } from './incarnation-gate.ts';

/** A look-up that answers when told to, and remembers how often it was begun. */
function manualLookup() {
  const begun: { answer: (incarnation: string | undefined) => void; fail: (fault: Error) => void }[] = [];
  const lookUp = () => new Promise<string | undefined>((resolve, reject) => begun.push({ answer: resolve, fail: reject }));
  return { begun, lookUp };
}

const source = { topic: 't', incarnation: 'aaaaaaaa' };
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('IncarnationGate', () => {
  it('opens for the incarnation that was read, and for no other', async () => {
    const { begun, lookUp } = manualLookup();
    const gate = new IncarnationGate(lookUp);
    for (const [answer, passes] of [
      ['aaaaaaaa', true],
      ['bbbbbbbb', false],
      [undefined, false],
    ] as const) {
      const asked = gate.confirm(source);
      begun.at(-1)?.answer(answer);
      if (passes) await asked;
      else await expect(asked).rejects.toThrow(TopicChanged);
    }
  });

  it('takes no answer of a look-up that was begun before it was asked, and lets all who wait share one', async () => {
    const { begun, lookUp } = manualLookup();
    const gate = new IncarnationGate(lookUp);
    const first = gate.confirm(source);
    const second = gate.confirm(source);
    const third = gate.confirm(source);
    await turn();
    expect(begun).toHaveLength(1);
    begun[0]?.answer('aaaaaaaa');
    await first;
    await turn();
    expect(begun).toHaveLength(2);
    const fourth = gate.confirm(source);
    begun[1]?.answer('bbbbbbbb');
    await expect(second).rejects.toThrow('topic t is not the one that was read (aaaaaaaa): it is bbbbbbbb now');
    await expect(third).rejects.toThrow(TopicChanged);
    await turn();
    expect(begun).toHaveLength(3);
    begun[2]?.answer('aaaaaaaa');
    await fourth;
  });

  it('passes a failed look-up on and then asks anew', async () => {
    const { begun, lookUp } = manualLookup();
    const gate = new IncarnationGate(lookUp);
    const first = gate.confirm(source);
    const second = gate.confirm(source);
    begun[0]?.fail(new Error('Kafka is away'));
    await expect(first).rejects.toThrow('Kafka is away');
    await turn();
    begun[1]?.answer('aaaaaaaa');
    await second;
    const third = gate.confirm(source);
    begun[2]?.answer('aaaaaaaa');
    await third;
    expect(begun).toHaveLength(3);
  });

  it('asks for each topic by itself', async () => {
    const asked: string[] = [];
    const gate = new IncarnationGate(async (topic) => {
      asked.push(topic);
      return 'aaaaaaaa';
    });
    await Promise.all([gate.confirm(source), gate.confirm({ topic: 'u', incarnation: 'aaaaaaaa' })]);
    expect(asked).toEqual(['t', 'u']);
  });
});
