import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** A command of ours by its noun and verb, that is not called as it can be from a clone. */
const BARE =
  /(?<!npx )(?<![@/\w-])tailrace (?:topics|group|dlq|lake|replay) (?:plan|apply|lag|reset|ls|show|replay|audit|query|ledger|window)\b/;
/** For who reads the source, not printed. */
const COMMENT = /^\s*(?:\/\*\*|\*|\/\/)/;

/** @param {string} text */
function bareIn(text) {
  return text.split('\n').filter((line) => BARE.test(line) && !COMMENT.test(line));
}

it('every command that a message or a page names can be pasted: it is called by npx, from one place in the sources', () => {
  const list = ['ls-files', '-co', '--exclude-standard', 'apps/*/src/**', 'packages/*/src/**', 'README.md', 'CONTRIBUTING.md', 'docs/**'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\n');
  const looked = files.filter((file) => /\.(ts|mjs|md)$/.test(file));
  expect(looked.length).toBeGreaterThan(100);
  const texts = looked.map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
  expect(texts.flatMap(({ file, text }) => bareIn(text).map((line) => `${file}: ${line.trim()}`))).toEqual([]);
  // What is written out in a source is the pages' and the tests' alone; all that is printed takes the constant.
  const source = texts.filter(({ file }) => file.endsWith('.ts') && !/(\.test|\/docs)\.ts$/.test(file));
  const written = source.filter(({ text }) => text.includes('npx tailrace'));
  expect(written.map(({ file }) => file)).toEqual(['packages/kafka-kit/src/observe/command.ts']);
});

it('a command without npx is found', () => {
  expect(
    bareIn("throw new Error('run: tailrace topics apply');\n/** As `tailrace topics plan` shows. */\nrun: npx tailrace group lag"),
  ).toEqual(["throw new Error('run: tailrace topics apply');"]);
});
