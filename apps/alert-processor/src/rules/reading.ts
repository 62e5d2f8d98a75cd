/** Reads YAML into checked values, and keeps where each stood: every problem has its line and column. */
import { isMap, isScalar, Lexer, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml';
import { IN_QUOTES, inQuotes, unquotedConditions } from './unquoted-conditions.ts';
import { yamlFault } from './yaml-faults.ts';

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

/** More words and signs are refused before they are parsed: a short text can be many of them, and half a million took the parser up to 8 s. */
const MAX_TOKENS = 150_000;

/** So many problems of a file are told: whoever wrote it mends those first. */
export const MAX_PROBLEMS = 100;

/** Where something stands: a node, or a place in the text. */
export type Place = Node | null | undefined | number;

export interface ReadingOptions {
  readonly what?: string;
  readonly notifiers?: readonly string[] | undefined;
}

/** One file that is being read. Problems are collected, never thrown. */
export class Reading {
  readonly file: string;
  /** As it is read: conditions without quotes have them. */
  readonly text: string;
  readonly problems: RuleProblem[] = [];
  /** Undefined where the text is no YAML, or holds nothing. */
  readonly root: Node | undefined;
  /** Names of the notifiers that rules may tell; undefined where they are not known. */
  readonly notifiers: readonly string[] | undefined;
  #lines = new LineCounter();

  /** `what` it is, for problems: `a rules file`. */
  constructor(file: string, text: string, { what = 'a rules file', notifiers }: ReadingOptions = {}) {
    this.file = file;
    this.notifiers = notifiers;
    this.text = text;
    if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
      this.problem(0, `The most that ${what} may have are ${MAX_FILE_BYTES / 1024} KiB.`);
      return;
    }
    this.#lines = linesOf(text);
    this.#scan(text, what);
    if (this.problems.length > 0) return;
    let document = parseDocument(text, OPTIONS);
    const unquoted = unquotedConditions(document, text);
    if (unquoted.length > 0) {
      for (const { at } of unquoted.slice(0, MAX_PROBLEMS + 1)) this.problem(at, IN_QUOTES);
      // The rest is read as if they were there, so that what else is wrong is told, too.
      this.text = inQuotes(text, unquoted);
      this.#lines = linesOf(this.text);
      document = parseDocument(this.text, OPTIONS);
    }
    const fault = yamlFault(document, this.text, what);
    if (fault !== undefined) {
      this.problem(fault.at, fault.sentence);
      return;
    }
    this.root = document.contents ?? undefined;
  }

  /** Whether so much is wrong that the rest is not looked at. */
  get full(): boolean {
    return this.problems.length > MAX_PROBLEMS;
  }

  /** The first problems in the order of their places; last, that there are more. */
  told(): readonly RuleProblem[] {
    const first = this.problems.slice(0, MAX_PROBLEMS).toSorted((a, b) => a.line - b.line || a.column - b.column);
    const next = this.problems[MAX_PROBLEMS];
    if (next === undefined) return first;
    return [...first, { ...next, sentence: `There is more wrong than these ${MAX_PROBLEMS} problems: mend them first.` }];
  }

  problem(place: Place, sentence: string): void {
    this.problems.push({ file: this.file, ...this.position(place), sentence });
  }

  /** Where it stands in the file; both count from 1. */
  position(place: Place): { readonly line: number; readonly column: number } {
    const at = typeof place === 'number' ? place : (place?.range?.[0] ?? 0);
    // Of a file that is too large the lines are not counted.
    const { line, col } = this.#lines.linePos(at);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  /** Refuses what would take the parser or a reader long: too many tokens, and aliases, each of which may stand for a large part of the file. */
  #scan(text: string, what: string): void {
    let at = 0;
    let tokens = 0;
    let isContent = false;
    for (const token of new Lexer().lex(text)) {
      tokens += 1;
      if (tokens > MAX_TOKENS) {
        this.problem(0, `The most that ${what} may have are ${MAX_TOKENS} words and signs.`);
        return;
      }
      if (token.startsWith('*') && !isContent && !this.full)
        this.problem(at, `An alias is not taken here: write out what ${shortened(token)} stands for.`);
      isContent = token === SCALAR_FOLLOWS;
      if (!MARKS.has(token)) at += token.length;
    }
  }

  /** Whether a map has the key. */
  has(map: Node, name: string): boolean {
    return isMap(map) && map.has(name);
  }

  /** Places of the nodes below a map, by their names: for what can only be checked when all is read. */
  find(from: Place, ...names: readonly string[]): Place {
    let found: Place = from;
    for (const name of names) {
      if (!isMap(found)) break;
      const inside: unknown = valueNode(found, name);
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

/** Keys that stand twice are found by who reads a map: the parser holds each key against all the others, and took 45 s for 60,000. */
const OPTIONS = { version: '1.2', schema: 'core', merge: false, prettyErrors: false, uniqueKeys: false } as const;

function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  for (let at = 0; at === 0 || text[at - 1] === '\n'; at = text.indexOf('\n', at) + 1 || -1) lines.addNewLine(at);
  return lines;
}

/** What the lexer puts between the words, and the text has not. */
const SCALAR_FOLLOWS = '\x1f';
const MARKS = new Set(['\x02', '\x18', SCALAR_FOLLOWS]);

function shortened(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

function valueNode(map: YAMLMap, name: string): unknown {
  return map.items.find(({ key }) => isScalar(key) && key.value === name)?.value ?? undefined;
}
