import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RulesText } from './read-rules.ts';
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
    for (const file of paths) files.push({ file, text: await readBounded(file) });
    return { files, digest: digestOf(JSON.stringify(files)) };
  } catch (fault) {
    // Safe: the sentence is told, and the old rules go on.
    return refused(`${path} can not be read: ${reasonOf(fault)}.`);
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
  const file = await open(path);
  try {
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) break;
    }
    const bytes = buffer.subarray(0, length);
    if (!isUtf8(bytes)) throw new Error(`${path} is not text in UTF-8`);
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'no permission',
  ELOOP: 'its links go round',
};

function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  return REASONS['code' in fault ? String(fault.code) : ''] ?? fault.message;
}

function refused(problem: string): RuleFiles {
  return { problem, digest: digestOf(problem) };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
