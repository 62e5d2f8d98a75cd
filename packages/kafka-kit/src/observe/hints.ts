import { TAILRACE } from './command.ts';

/** What a shell takes as one word without quotes. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** Makes the commands that a sentence names work where this one did: with the endpoints file that it was given. */
export function hintsFor(file: string | undefined, sentence: string): string {
  if (file === undefined) return sentence;
  const word = PLAIN.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
  return sentence.replaceAll(`${TAILRACE} `, () => `${TAILRACE} --endpoints ${word} `);
}

/** Names, for an app that carries a command out, the endpoints file that the command was given. */
export const ENDPOINTS_FILE = 'TAILRACE_ENDPOINTS_FILE';
