import { TAILRACE } from '@tailrace/kafka-kit';
import type { ReplayRun } from '@tailrace/lake';

/** How far a plan has come. `begun`: its sending was begun and has not ended; whether a command is at it now nobody can say. */
export type PlanState = 'planned' | 'begun' | 'sent' | 'cancelled' | 'done';

export function stateOf(run: ReplayRun | undefined): PlanState {
  if (run === undefined) return 'planned';
  if (run.hasReceipt) return 'done';
  if (run.isCancelled) return 'cancelled';
  return run.isSent ? 'sent' : 'begun';
}

/** The state as a sentence, with what to do next. */
export function stateWords(state: PlanState, plan: number): string {
  switch (state) {
    case 'planned':
      return `not sent yet; ${TAILRACE} replay run ${plan} sends it.`;
    case 'begun':
      return `run, and not all sent yet; where no command sends it any more, ${TAILRACE} replay run ${plan} goes on with it.`;
    case 'sent':
      return `all sent, and not all applied when last looked; ${TAILRACE} replay receipt ${plan} looks again.`;
    case 'cancelled':
      return `cancelled, and what was sent is not all applied yet; ${TAILRACE} replay receipt ${plan} looks again.`;
    case 'done':
      return `over; ${TAILRACE} replay receipt ${plan} shows what it did.`;
  }
}
