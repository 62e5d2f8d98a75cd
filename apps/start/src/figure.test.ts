import { expect, it } from 'vitest';
import { Watch } from './figure.ts';

it('a server that hangs is asked once, keeps its last figure, and is said to be silent until it answers', async () => {
  let nowMs = 0;
  const answers: ((value: number) => void)[] = [];
  const watch = new Watch(
    () => new Promise((resolve) => answers.push(resolve)),
    () => nowMs,
  );
  const first = watch.ask();
  answers[0]?.(7);
  await first;
  expect(watch.figure).toEqual({ value: 7, silentSeconds: 0 });
  // Between two questions nobody is silent.
  nowMs = 60_000;
  expect(watch.figure.silentSeconds).toBe(0);
  for (const silentSeconds of [0, 0, 2, 3, 4]) {
    void watch.ask();
    expect(watch.figure).toEqual({ value: 7, silentSeconds });
    nowMs += 1000;
  }
  expect(answers).toHaveLength(2);
  const late = watch.ask();
  answers[1]?.(9);
  await late;
  expect(watch.figure).toEqual({ value: 9, silentSeconds: 0 });
});

it('a server that refuses is asked again each time, and is silent since the first refusal', async () => {
  let nowMs = 0;
  let asked = 0;
  const watch = new Watch(
    () => Promise.reject(new Error(`refusal ${asked++}`)),
    () => nowMs,
  );
  for (; nowMs <= 5000; nowMs += 1000) await watch.ask();
  expect(asked).toBe(6);
  expect(watch.figure).toEqual({ value: undefined, silentSeconds: 6 });
});
