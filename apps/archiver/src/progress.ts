const TELL_EVERY_MS = 2_000;

/** Tells how far a long work is, now and then and at its end. */
export function progressNotes(
  note: (text: string) => void,
  what: string,
  nowMs: () => number = Date.now,
): (done: number, all: number) => void {
  let toldMs = nowMs();
  return (done, all) => {
    if (done < all && nowMs() - toldMs < TELL_EVERY_MS) return;
    toldMs = nowMs();
    note(`${done} of ${all} ${what}\n`);
  };
}
