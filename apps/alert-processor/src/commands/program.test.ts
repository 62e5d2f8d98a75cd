import { expect, it } from 'vitest';
import { alertingCommand } from './program.ts';

it.each([
  [
    ['alerts', 'silence', '--for', '1h'],
    "required option '--comment <text>' not specified\n(npx tailrace alerts silence --help tells more)",
  ],
  [['rules', 'backtest', '--rules', 'x'], '(npx tailrace rules backtest --help tells more)'],
  [['alerts', 'ls', '--nonsense'], '(npx tailrace alerts ls --help tells more)'],
  [
    ['rules', 'backtest', '--from', '2026-01-01T00:00:00Z', '--to', '2026-01-01T01:00:00Z'],
    'Say which rules: --rules PATH, or ALERT_RULES',
  ],
  [['alerts', 'unsilence', ''], 'Say which silence: npx tailrace alerts silences shows those that there are.'],
])('%j is wrong use, and the help that is named is that of the verb', async (argv, sentence) => {
  let told = '';
  const note = (text: string): void => {
    told += text;
  };
  const ports = { out: note, note, nowMs: () => Date.UTC(2026, 1, 1), environment: {}, signal: new AbortController().signal };
  expect(await alertingCommand(argv, ports)).toBe(2);
  expect(told).toContain(sentence);
});
