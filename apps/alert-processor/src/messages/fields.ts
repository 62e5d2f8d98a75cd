/** What is wrong with a record of `alert-partials`: nobody but us writes there, so it says that another version does, or another program. */
export class MessageError extends Error {
  override readonly name = 'MessageError';

  constructor(finding: string) {
    super(`a record of alert-partials can not be read: ${finding}`);
  }
}

function refuse(name: string, wanted: string, value: unknown): never {
  throw new MessageError(`${name} must be ${wanted}, not ${String(JSON.stringify(value)).slice(0, 80)}`);
}

export function readList(value: unknown, name: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(name, 'a list', value);
}

export function readText(value: unknown, name: string): string {
  return typeof value === 'string' ? value : refuse(name, 'a text', value);
}

/** JSON holds finite numbers only, so any number will do for a time in ms or a sum. */
export function readNumber(value: unknown, name: string): number {
  return typeof value === 'number' ? value : refuse(name, 'a number', value);
}

/** An index, an offset or a number of events. */
export function readWhole(value: unknown, name: string): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : refuse(name, 'a whole number', value);
}
