import { MessageError, readList, readText, readWhole } from './fields.ts';
import type { RuleId, Source } from './message.ts';

/** A list whose members are named by their place in it: a record says each of them once. */
export class Table<T> {
  readonly #rowOf: (member: T) => string;
  readonly #places = new Map<T, number>();
  readonly #byText = new Map<string, number>();
  readonly #rows: string[] = [];
  /** What the rows take, with their commas. */
  bytes = 0;

  /** `rowOf`: a member as JSON. */
  constructor(rowOf: (member: T) => string) {
    this.#rowOf = rowOf;
  }

  placeOf(member: T): number {
    return this.#places.get(member) ?? this.#take(member);
  }

  #take(member: T): number {
    const row = this.#rowOf(member);
    const place = this.#byText.get(row) ?? this.#rows.length;
    if (place === this.#rows.length) {
      this.#rows.push(row);
      this.#byText.set(row, place);
      this.bytes += Buffer.byteLength(row) + 1;
    }
    this.#places.set(member, place);
    return place;
  }

  get size(): number {
    return this.#rows.length;
  }

  /** Back to an earlier size; the table is full then, and only written. */
  cut(size: number): void {
    for (const row of this.#rows.splice(size)) this.bytes -= Buffer.byteLength(row) + 1;
  }

  toString(): string {
    return `[${this.#rows.join(',')}]`;
  }
}

export const ruleRow = ({ name, version }: RuleId): string => JSON.stringify([name, version]);
export const sourceRow = ({ topic, incarnation, partition }: Source): string => JSON.stringify([topic, incarnation, partition]);

export function readRules(value: unknown): RuleId[] {
  return readList(value, 'rules').map((row) => {
    const [name, version] = readList(row, 'rule');
    return { name: readText(name, 'rule'), version: readText(version, 'version') };
  });
}

export function readSources(value: unknown): Source[] {
  return readList(value, 'sources').map((row) => {
    const [topic, incarnation, partition] = readList(row, 'source');
    return {
      topic: readText(topic, 'topic'),
      incarnation: readText(incarnation, 'incarnation'),
      partition: readWhole(partition, 'partition'),
    };
  });
}

export function memberOf<T>(table: readonly T[], place: unknown, name: string): T {
  const member = typeof place === 'number' ? table[place] : undefined;
  if (member === undefined) throw new MessageError(`${name} ${JSON.stringify(place)} is not in the table`);
  return member;
}
