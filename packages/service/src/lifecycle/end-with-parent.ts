import { endProcess } from './end-process.ts';

/** The exit code of a command whose caller is gone: as of one that SIGHUP ended. */
const HUNG_UP = 129;

/**
 * Ends this process when the one ends that started it with a channel (`stdio: [..., 'ipc']`), however that came about: a command whose caller was killed
 * would else go on behind everybody's back. Does nothing for a process that was started without one.
 */
export function endWithParent(): void {
  if (process.connected === undefined) return;
  // Killed before this process came so far.
  if (!process.connected) endProcess(HUNG_UP);
  process.once('disconnect', () => endProcess(HUNG_UP));
  // Listening alone would keep a command alive whose work is done.
  process.channel?.unref();
}
