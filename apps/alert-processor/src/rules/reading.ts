/** Reads YAML into checked values, and keeps where each stood: every problem has its line and column. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from 'yaml';

/** What is wrong with a rules file: one sentence, and where. Line and column count from 1. */
export interface RuleProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly sentence: string;
}

export function problemLine({ file, line, column, sentence }: RuleProblem): string {
  return `${file}:${line}:${column}: ${sentence}`;
}

/** A larger file is refused before it is parsed. */
export const MAX_FILE_BYTES = 512 * 1024;

/** Where something stands: a node, or a place in the text. */
export type Place = Node | null | undefined | number;

/** One file that is being read. Problems are collected, never thrown. */
export class Reading {
  readonly file: string;
  readonly text: string;
  readonly problems: RuleProblem[] = [];
  /** Undefined where the text is no YAML, or holds nothing. */
  readonly root: Node | undefined;
  readonly #document: Document<ParsedNode> | undefined;
  readonly #lines = new LineCounter();

  /** `what` it is, for problems: `a rules file`. */
  constructor(file: string, text: string, what = 'a rules file') {
    this.file = file;
    this.text = text;
    if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
      this.problem(0, `The most that ${what} may have are ${MAX_FILE_BYTES / 1024} KiB.`);
      return;
    }
    // Keys that stand twice are found by who reads a map: the parser holds each key against all the others, and took 45 s for 60,000.
    const options = { version: '1.2', schema: 'core', merge: false, prettyErrors: false, uniqueKeys: false } as const;
    const document = parseDocument(text, { ...options, lineCounter: this.#lines });
    for (const fault of [...document.errors, ...document.warnings]) this.problem(fault.pos[0], faultSentence(fault, text, what));
    if (this.problems.length > 0) return;
    this.#document = document as Document<ParsedNode>;
    this.root = document.contents ?? undefined;
  }

  problem(place: Place, sentence: string): void {
    this.problems.push({ file: this.file, ...this.position(place), sentence });
  }

  /** Where it stands in the file; both count from 1. */
  position(place: Place): { readonly line: number; readonly column: number } {
    const at = typeof place === 'number' ? place : (place?.range?.[0] ?? 0);
    // Before the first line break is met, and for an empty text, the counter has no lines.
    const { line, col } = this.#lines.linePos(at);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  /**
   * The node that an alias stands for. Nothing grows by aliases: a value is read along the keys of a fixed table, and lists are bounded, so an alias to what
   * holds it is just a value that does not fit.
   */
  resolve(node: unknown): Node | undefined {
    if (this.#document !== undefined && isAlias(node)) return node.resolve(this.#document) as Node | undefined;
    return (node ?? undefined) as Node | undefined;
  }

  /** Places of the nodes below a map, by their names: for what can only be checked when all is read. */
  find(from: Place, ...names: readonly string[]): Place {
    let found: Place = from;
    for (const name of names) {
      const map = this.resolve(found);
      if (!isMap(map)) break;
      const inside: unknown = valueNode(map, name);
      if (inside === undefined) break;
      found = inside as Node;
    }
    return found;
  }

  /** Where the character `at` of a text stands; for texts that are not written as they are (with escapes, over several lines), where the text begins. */
  placeIn(node: Place, at: number): Place {
    if (!isScalar(node) || typeof node.value !== 'string' || !node.range) return node;
    const start = node.range[0] + (/^["']/.test(this.text.charAt(node.range[0])) ? 1 : 0);
    return this.text.startsWith(node.value, start) ? start + at : node;
  }
}

function valueNode(map: YAMLMap, name: string): unknown {
  return map.items.find(({ key }) => isScalar(key) && key.value === name)?.value ?? undefined;
}

/** In our words where people meet it often; else the parser's own, without its drawing of the place. */
function faultSentence(fault: YAMLError, text: string, what: string): string {
  const [first = ''] = fault.message.split('\n');
  switch (fault.code) {
    case 'MULTIPLE_DOCS':
      return `One YAML document makes ${what}: put what stands behind --- into a file of its own.`;
    case 'RESOURCE_EXHAUSTION':
      return 'This is nested too deeply.';
    default:
      // `condition: > 100` is the beginning of a folded text in YAML.
      if (/condition:[ \t]*[<>][^\n]*$/.test(text.slice(0, fault.pos[0]))) return 'Put the condition in quotes, like "> 100".';
      return `This is not YAML: ${first.replace(/[.:]?$/, '')}.`;
  }
}
