// Measures subjects in turn, each in a process of its own, and prints medians with every bar beside them.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SUBJECTS = fileURLToPath(new URL('../subjects/', import.meta.url));
export const ROUNDS = 3;

/** @typedef {{ cpuUs: number, wallMs: number, residentMb: number, stallMs: number, bytesPerEvent?: number }} Figures */

/**
 * Three rounds; in each, every subject once.
 * @param {readonly string[]} subjects
 * @param {Omit<import('./subject.mjs').Task, 'group' | 'folder'> & { folder: string }} task
 * @param {AbortSignal} signal
 * @returns {Promise<Record<string, Figures[]>>}
 */
export async function inTurn(subjects, task, signal) {
  const found = Object.fromEntries(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const subject of subjects) {
      const group = `bench-${subject}-${task.topic}-${round}`;
      found[subject].push(await measure(subject, { ...task, group, folder: join(task.folder, group) }, signal));
    }
  }
  return found;
}

/** One subject once. */
export function measure(subject, task, signal) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, UV_THREADPOOL_SIZE: '16' };
    execFile(process.execPath, [join(SUBJECTS, `${subject}.mjs`), JSON.stringify(task)], { env, signal }, (fault, out, err) => {
      if (fault) reject(new Error(`${subject} failed: ${err.trim().split('\n').slice(-5).join(' | ') || fault.message}`));
      else resolve(JSON.parse(out));
    });
  });
}

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** The median of one figure over the rounds. @param {Figures[]} rounds @param {keyof Figures} figure */
export const medianOf = (rounds, figure) => median(rounds.map((round) => round[figure]));

/** A line for a subject: what a record costs, its pace, memory and stalls. */
export function subjectLine(name, rounds, records) {
  const us = rounds.map(({ cpuUs }) => (cpuUs / records).toFixed(2));
  const perSecond = Math.round(records / (medianOf(rounds, 'wallMs') / 1000));
  return `  ${name.padEnd(14)} ${(medianOf(rounds, 'cpuUs') / records).toFixed(2).padStart(6)} us of CPU a record (${us.join(', ')})  ${String(perSecond).padStart(7)} records/s  ${Math.round(medianOf(rounds, 'residentMb'))} MiB at most  longest stall ${Math.round(medianOf(rounds, 'stallMs'))} ms`;
}

/** A line for a figure that explains a bar. */
export function figureLine(what, is) {
  return `          ${what}: ${is.toFixed(2)}`;
}

/** A line for a bar: what was measured, what it may be, and whether it is. */
export function barLine(what, is, bar, digits = 2) {
  return `  ${is <= bar ? 'met    ' : 'NOT MET'} ${what}: ${is.toFixed(digits)} (bar ${bar})`;
}
