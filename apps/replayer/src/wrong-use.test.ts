import { expect, it } from 'vitest';
import { replayCommand } from './replay-command.ts';

/** A port where nobody listens, of both servers. */
const environment = {
  KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1',
  AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'a',
  AWS_SECRET_ACCESS_KEY: 'b',
  TAILRACE_LAKE_BUCKET: 'lake',
};
const NOW_MS = Date.UTC(2026, 2, 1);

async function replay(argv: readonly string[]): Promise<{ readonly code: number; readonly told: string }> {
  let told = '';
  const code = await replayCommand(argv, {
    out: () => {},
    note: (text) => {
      told += text;
    },
    nowMs: () => NOW_MS,
    environment,
    topics: ['events'],
    positionsTopic: 'positions',
    signal: new AbortController().signal,
  });
  return { code, told };
}

const plan = (more: Readonly<Record<string, string>>): string[] => [
  'plan',
  ...Object.entries({ '--from': '2026-01-01T00:00:00Z', '--to': '2026-01-02T00:00:00Z', '--into': 'indexer', ...more }).flat(),
];

it.each<[readonly string[], RegExp]>([
  [['run', '0'], /Give the number of a plan/],
  [['receipt', 'x'], /Give the number of a plan/],
  [['cancel', '1.5'], /Give the number of a plan/],
  [['show', '-1'], /Give the number of a plan/],
  [['run', '1', '--rate', '1.5MiB'], /Give a size/],
  [['run', '1', '--max-unread', '0'], /Give a whole number/],
  [['run', '1', '--source', 'tape'], /Allowed choices are kafka, lake/],
  [['run'], /missing required argument/],
  [['ls', '7'], /too many arguments/],
  [['nonsense'], /too many arguments|unknown command/],
  [plan({ '--from': '1767225600' }), /not in seconds or milliseconds/],
  [plan({ '--to': '2026-01-01T00:00:00Z' }), /--from must be earlier than --to/],
  [plan({ '--to': '2026-04-01T00:00:00Z' }), /lies in the future/],
  [plan({ '--into': 'archiver' }), /the lake has them/],
  [plan({ '--into': 'nobody' }), /there is no such consumer/],
  [plan({ '--where': 'nonsense' }), /--where nonsense: /],
  [plan({ '--skew': '1h' }), /--skew 1h is for windows by the event's own time/],
  [plan({ '--by': 'moon' }), /Allowed choices are broker, event/],
  [plan({ '--keep': '0' }), /Give a whole number/],
])('%j is told as wrong use before any server is asked', async (argv, sentence) => {
  for (const first of [[], ['--check-only']])
    expect(await replay([...first, 'replay', ...argv])).toEqual({ code: 2, told: expect.stringMatching(sentence) });
});

it('of a command line that makes sense --check-only says nothing, and asks nobody', async () => {
  for (const argv of [['window'], ['ls'], ['run', '1', '--rate', '5MiB'], ['cancel', '1'], plan({})])
    expect(await replay(['--check-only', 'replay', ...argv])).toEqual({ code: 0, told: '' });
});
