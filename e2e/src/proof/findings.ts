/** How many examples of one kind of finding are told, and kept: after a great loss there may be a million. */
const EXAMPLES = 5;

/** Collects what is wrong, by kind: one loss and ten thousand losses are read differently. */
export class Findings {
  readonly #byKind = new Map<string, { count: number; readonly examples: string[] }>();

  add(kind: string, what: string | number): void {
    const told = this.#byKind.get(kind) ?? { count: 0, examples: [] };
    if (told.count++ < EXAMPLES) told.examples.push(String(what));
    this.#byKind.set(kind, told);
  }

  get lines(): string[] {
    return [...this.#byKind].map(
      ([kind, { count, examples }]) => `${count} ${kind}: ${examples.join(', ')}${count > EXAMPLES ? ', …' : ''}`,
    );
  }
}
