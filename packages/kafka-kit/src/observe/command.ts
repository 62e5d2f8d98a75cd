/** How the command line is called from a clone: a hint must work as it is pasted. The one place where this is written. */
export const TAILRACE = 'npx tailrace';
