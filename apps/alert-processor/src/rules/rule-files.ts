import { createHash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RulesText } from './read-rules.ts';
import { mustBeFile, textOf, WITHOUT_WAITING, whyUnreadable } from './read-text.ts';
import { MAX_FILE_BYTES } from './reading.ts';

/** More files than these in one folder are refused. */
export const MAX_FILES = 200;

/** What stands in the file or folder now. */
export type RuleFiles =
  | { readonly files: readonly RulesText[]; readonly digest: string }
  | { readonly problem: string; readonly digest: string };

/** Reads the file, or all *.yaml and *.yml of the folder in the order of their names. Never rejects: what can not be read is a problem, in one sentence. */
export async function readRulesAt(path: string): Promise<RuleFiles> {
  try {
    const paths = await rulePaths(path);
    if (paths.length === 0) return refused(`${path} holds no *.yaml file.`);
    if (paths.length > MAX_FILES) return refused(`${path} holds ${paths.length} *.yaml files, and ${MAX_FILES} are taken at most.`);
    const files: RulesText[] = [];
    for (const file of paths) {
      const text = await readBounded(file).catch((fault: unknown) => ({ problem: `${file} can not be read: ${whyUnreadable(fault)}.` }));
      // Safe: the sentence is told, and the old rules go on.
      if (typeof text === 'object') return refused(text.problem);
      files.push({ file, text });
    }
    return { files, digest: digestOf(JSON.stringify(files)) };
  } catch (fault) {
    // Safe: the sentence is told, and the old rules go on.
    return refused(`${path} can not be read: ${whyUnreadable(fault)}.`);
  }
}

async function rulePaths(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = await readdir(path);
  // Mounted configuration has hidden folders beside the files, with the same files in them.
  return names
    .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
    .sort()
    .map((name) => join(path, name));
}

/** At most one byte more than a rules file may have: a wrong path may name anything. */
async function readBounded(path: string): Promise<string> {
  const file = await open(path, WITHOUT_WAITING);
  try {
    mustBeFile(await file.stat());
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) break;
    }
    return textOf(buffer.subarray(0, length));
  } finally {
    await file.close();
  }
}

function refused(problem: string): RuleFiles {
  return { problem, digest: digestOf(problem) };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
