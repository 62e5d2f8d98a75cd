const NAME = /"service"\s*:\s*"((?:[^"\\\p{Cc}]|\\["\\/bfnrt]){1,128})"/u;
/** The name stands near the front of an event; what is looked through of a large one is bounded. */
const LOOKED_AT_BYTES = 64 * 1024;

/** Whose event a value likely is, also where it is broken: for telling dead letters apart, never for what is stored. */
export function likelyService(value: Buffer | null): string | undefined {
  const [, name] = NAME.exec(value?.subarray(0, LOOKED_AT_BYTES).toString('utf8') ?? '') ?? [];
  if (name === undefined) return undefined;
  try {
    return String(JSON.parse(`"${name}"`));
  } catch {
    // Safe: the pattern lets only JSON's own escapes through; a name that is none after all is an unknown one.
    return undefined;
  }
}
