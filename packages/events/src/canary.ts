/**
 * The service of events that tailrace posts to itself, to see whether events come through and how long they take. They are taken, kept and
 * archived as any other; where people count, they are left out.
 */
export const CANARY_SERVICE = 'tailrace.canary';

/** For what reason a consumer skips them. */
export const CANARY_REASON = 'canary';
