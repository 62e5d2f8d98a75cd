import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

it('has every npm script that a page names', () => {
  const pages = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  const named = pages.flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => ({ page, script })),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(({ script }) => scripts[script ?? ''] === undefined)).toEqual([]);
});
