/** 0 good, 1 a finding, a difference or failed work, 2 wrong use. */
export const EXIT = { good: 0, finding: 1, failed: 1, wrongUse: 2 } as const;

/** Prints a result as lines for people, or as one JSON object for scripts. */
export interface Output {
  result(value: object, lines: readonly string[]): void;
}

export function createOutput(json: boolean, write: (text: string) => void): Output {
  return { result: (value, lines) => write(json ? `${JSON.stringify(value)}\n` : `${lines.join('\n')}\n`) };
}
