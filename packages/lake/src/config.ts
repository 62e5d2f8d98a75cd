/**
 * Without it the SDK prints a warning about a coming Node version at every start of every process; the repository's floor for Node
 * is its own decision. The SDK reads this only from the environment. A value that somebody set stays.
 */
export function silenceNodeVersionWarning(): void {
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
}

/** Set by who wants the generated page written instead of compared. */
export const updateDocs = process.env.UPDATE_DOCS === '1';
