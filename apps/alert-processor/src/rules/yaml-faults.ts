/** What is wrong with a text that is no YAML, in words for whoever wrote it: a parser speaks of its own parts. */
import { type Document, type Node, visit, type YAMLError } from 'yaml';
import { IN_QUOTES } from './unquoted-conditions.ts';

interface Row {
  readonly code: string;
  /** Of several faults with this code, those whose message fits. */
  readonly says?: RegExp;
  /** And those where this stands from the fault to the end of its line. */
  readonly line?: RegExp;
  readonly words: string;
  /** Where people look: the next word behind the place that the parser names, the next line, or where what does not end begins. */
  readonly at?: 'next' | 'next line' | 'opening';
}

const NEIGHBOURS = 'all keys of one map begin in the same column, and so do the "-" of one list';
const INDENTATION = `The indentation is wrong here: ${NEIGHBOURS}.`;
const NOT_CLOSED = 'This map or list in brackets is not closed: put its } or ] behind it.';

/** The first row that fits counts. */
const ROWS: readonly Row[] = [
  { code: 'BAD_INDENT', says: /end with a/, words: NOT_CLOSED, at: 'opening' },
  { code: 'BAD_INDENT', words: INDENTATION, at: 'next' },
  { code: 'MISSING_CHAR', says: /without - indicator/, words: INDENTATION, at: 'next' },
  {
    code: 'MISSING_CHAR',
    says: /closing .quote/,
    words: 'This text in quotes does not end: put the closing quote behind it.',
    at: 'opening',
  },
  { code: 'MISSING_CHAR', says: /end with a/, words: NOT_CLOSED, at: 'opening' },
  { code: 'MISSING_CHAR', says: /followed by map values/, words: 'A key is followed by a colon, a blank and its value, like window: 1m.' },
  { code: 'MISSING_CHAR', says: /Missing ,/, words: 'A comma is missing before this, or the map or list in brackets is not closed.' },
  { code: 'BLOCK_IN_FLOW', words: 'A comma is missing in this map or list in brackets, or it is not closed.' },
  { code: 'TAB_AS_INDENT', words: 'Indent with blanks: YAML takes no tabs there.' },
  { code: 'MULTILINE_IMPLICIT_KEY', words: 'A key is followed by a colon, a blank and its value, like window: 1m.' },
  { code: 'BLOCK_AS_IMPLICIT_KEY', line: /^[^\s-].*:(?:\s|$)/, words: 'This has a second colon: a text with ": " in it stands in quotes.' },
  {
    code: 'BLOCK_AS_IMPLICIT_KEY',
    words: `This line is indented deeper than the one before it, whose key has its value already: ${NEIGHBOURS}.`,
    at: 'next line',
  },
  { code: 'BAD_SCALAR_START', words: 'A text that begins so stands in quotes: YAML gives its first character a meaning of its own.' },
  { code: 'BAD_DQ_ESCAPE', words: 'In double quotes \\ begins an escape: write \\\\, or put the text in single quotes.' },
  {
    code: 'UNEXPECTED_TOKEN',
    says: /at node end/,
    words: 'Nothing may follow what ends before this (a text in quotes, or a map or list in brackets): put the whole value in quotes.',
  },
  { code: 'RESOURCE_EXHAUSTION', words: 'This is nested too deeply.' },
];

/** The document's first fault, the others being most often its consequences: where it stands in the text, and one sentence. `what` the text should be: `a rules file`. */
export function yamlFault(
  document: Document.Parsed,
  text: string,
  what: string,
): { readonly at: number; readonly sentence: string } | undefined {
  const [fault] = [...document.errors, ...document.warnings].toSorted((a, b) => a.pos[0] - b.pos[0]);
  if (fault === undefined) return undefined;
  const [at] = fault.pos;
  if (fault.code === 'MULTIPLE_DOCS')
    return { at, sentence: `One YAML document makes ${what}: put what stands behind --- into a file of its own.` };
  // In a map in braces it can not be read as if it were in quotes: where it ends is not sure.
  if (fault.code === 'BAD_SCALAR_START' && /condition["']?:\s*$/.test(text.slice(0, at).slice(-40))) return { at, sentence: IN_QUOTES };
  const row = rowOf(fault, text);
  if (row === undefined) return { at, sentence: `This is not YAML: ${(fault.message.split('\n')[0] ?? '').replace(/[.:]?$/, '')}.` };
  return {
    at: row.at === 'opening' ? opening(document, at) : wordFrom(text, row.at === 'next line' ? endOfLine(text, at) : at, row),
    sentence: row.words,
  };
}

function rowOf({ code, message, pos: [at] }: YAMLError, text: string): Row | undefined {
  const line = text.slice(at, endOfLine(text, at));
  return ROWS.find((row) => row.code === code && (row.says?.test(message) ?? true) && (row.line?.test(line) ?? true));
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

/** The next word, behind blanks and comments; where there is none, the place itself. */
function wordFrom(text: string, at: number, row: Row): number {
  if (row.at === undefined) return at;
  const blanks = /^(?:\s+|#[^\n]*\n)*/.exec(text.slice(at))?.[0].length ?? 0;
  return at + blanks < text.length ? at + blanks : at;
}

/** Where the innermost thing in quotes or brackets begins that goes on up to there. */
function opening(document: Document.Parsed, at: number): number {
  let from = -1;
  const look = (node: Node & { readonly flow?: boolean; readonly type?: string }): void => {
    const [start = 0, end = 0] = node.range ?? [];
    if ((node.flow === true || node.type?.startsWith('QUOTE') === true) && start < at && end >= at && start > from) from = start;
  };
  visit(document, { Collection: (_, node) => look(node as Node), Scalar: (_, node) => look(node as Node) });
  return from < 0 ? at : from;
}
