import { describe, expect, it } from 'vitest';
import { parseOptions, UsageError } from './options.ts';

function wrongUse(...argv: string[]): string {
  try {
    parseOptions(argv);
  } catch (error) {
    if (error instanceof UsageError && error.exitCode === 2) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${argv.join(' ')}`);
}

describe('the command line of npm start', () => {
  it('posts samples to own servers without any option', () => {
    expect(parseOptions([])).toEqual({
      rate: 50,
      inputFile: undefined,
      once: false,
      dataFolder: undefined,
      endpointsFile: undefined,
      servers: 'own',
    });
  });

  it('never posts samples to given servers unless asked', () => {
    expect(parseOptions(['--servers', 'given']).rate).toBe(0);
    expect(parseOptions(['--servers', 'given', '--samples']).rate).toBe(50);
    expect(wrongUse('--servers', 'given', '--once')).toContain('--once has nothing to post');
  });

  it('posts a file instead of samples', () => {
    const { pathname } = new URL(import.meta.url);
    expect(parseOptions(['--input', pathname, '--once'])).toMatchObject({ rate: 0, inputFile: pathname, once: true });
  });

  it.each([
    [['--rate', 'fast'], 'whole number of events a second'],
    [['--rate', '-1'], 'whole number of events a second'],
    [['--rate', '100001'], 'whole number of events a second'],
    [['--rate', '5', '--input', 'x'], '--rate is for samples'],
    [['--input', '/no/such/file'], 'can not be read'],
    [['--input', '/'], 'it is not a file'],
    [['--servers', 'docker'], 'Allowed choices are own, given'],
    [['--servers', 'given', '--data', 'x'], '--data is for own servers'],
    [['--nonsense'], "unknown option '--nonsense'"],
    [['word'], 'too many arguments'],
  ])('refuses %j in one sentence', (argv, sentence) => {
    expect(wrongUse(...argv)).toContain(sentence);
    expect(wrongUse(...argv)).not.toContain('\n');
  });
});
