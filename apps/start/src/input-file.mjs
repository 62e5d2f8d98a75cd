// Whether a file of `--input` can hold one event a line, asked before anything is built: else the gateway would refuse it line by line.
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';

const LOOK_BYTES = 1024 * 1024;

/** First bytes of files that are no text, as latin1. */
const PACKED = [
  { start: '\x1f\x8b', what: 'it is compressed with gzip', unpack: 'gunzip -c' },
  { start: '\x28\xb5\x2f\xfd', what: 'it is compressed with zstd', unpack: 'zstd -dc' },
  { start: '\xfd7zXZ\0', what: 'it is compressed with xz', unpack: 'xz -dc' },
  { start: 'BZh', what: 'it is compressed with bzip2', unpack: 'bunzip2 -c' },
  { start: 'PK\x03\x04', what: 'it is a zip archive', unpack: 'unzip -p' },
  { start: '\xff\xfe', what: 'it is UTF-16', unpack: 'iconv -f UTF-16 -t UTF-8' },
  { start: '\xfe\xff', what: 'it is UTF-16', unpack: 'iconv -f UTF-16 -t UTF-8' },
];

/**
 * Why a file can not be posted as NDJSON, and what to do; undefined when nothing speaks against it. Single bad lines are no reason: the
 * gateway names them.
 * @param {string} file
 * @returns {string | undefined} a sentence
 */
export function inspectInput(file) {
  const unread = (/** @type {string} */ why) => `The file ${file} of --input can not be read: ${why}.`;
  try {
    if (!statSync(file).isFile()) return unread('it is not a file');
    accessSync(file, constants.R_OK);
    const { text, whole } = beginningOf(file);
    if (whole && text.trim() === '') return unread('it holds no event');
    const converted = (/** @type {string} */ what, /** @type {string} */ command) =>
      `The file ${file} of --input can not be posted: ${what}, and one event on each line is needed; make such a file with: ${command} ${quoted(file)} > events.ndjson`;
    const packed = PACKED.find(({ start }) => text.startsWith(start));
    if (packed !== undefined) return converted(packed.what, packed.unpack);
    const document = documentIn(text);
    return document && converted(document.what, document.command);
  } catch (error) {
    return unread(/** @type {Error} */ (error).message);
  }
}

/**
 * A JSON document over the file instead of one event a line; undefined where the lines look like lines.
 * @param {string} text
 */
function documentIn(text) {
  const [first = '', second = ''] = text
    .replace(/^\xef\xbb\xbf/, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const complete = isJson(first);
  // Many logs begin with a bracket, and an array of its own before other lines is one bad line.
  const linesFollow = complete && second !== '';
  if (/^\[\s*([{[]|$)/.test(first) && !linesFollow) return { what: 'it is one JSON array', command: "jq -c '.[]'" };
  // No JSON ends so, and no event begins as an indented field does.
  const indented = first.startsWith('{') && !complete && /[{[,:]$/.test(first) && second !== '' && !second.startsWith('{');
  if (indented) return { what: 'its events go over several lines', command: 'jq -c .' };
  return undefined;
}

/** @param {string} text */
function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // That is the answer.
  }
}

/** The bytes at the file's start, one character a byte. @param {string} file */
function beginningOf(file) {
  const handle = openSync(file, 'r');
  try {
    const start = Buffer.alloc(LOOK_BYTES);
    const length = readSync(handle, start, 0, LOOK_BYTES, 0);
    return { text: start.toString('latin1', 0, length), whole: length < LOOK_BYTES };
  } finally {
    closeSync(handle);
  }
}

/** As a word of a shell. @param {string} file */
function quoted(file) {
  return /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
}
