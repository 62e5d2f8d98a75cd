/** The alert processor with a clock that whoever started it moves, by messages `{ nowMs }`: for tests that push a day in minutes. */
import { runAlertProcessor } from '../alert-processor.ts';

let nowMs: number | undefined;
const told = new Promise<void>((resolve) => {
  process.on('message', (message: { readonly nowMs: number }) => {
    nowMs = Math.max(nowMs ?? 0, message.nowMs);
    resolve();
  });
});
await told;
await runAlertProcessor(() => nowMs ?? 0);
