import { isMap, isScalar, type Node } from 'yaml';
import type { Place, Reading } from '../rules/reading.ts';
import type { Shape } from '../rules/shapes.ts';

/** Where a secret stands: never in the notifiers file itself. */
export type SecretPlace = { readonly env: string } | { readonly file: string };

const ENV_NAME = /^[A-Z][A-Z0-9_]{0,127}$/;
const WORDS = 'a map that says where it stands, {env: NAME} or {file: PATH}';
const SCHEMA = {
  type: 'object',
  minProperties: 1,
  maxProperties: 1,
  properties: { env: { type: 'string', pattern: ENV_NAME.source }, file: { type: 'string', minLength: 1 } },
  additionalProperties: false,
};

/** What does not fit is not repeated in the problem: it may be the secret. */
export const secret: Shape<SecretPlace> = {
  words: WORDS,
  schema: SCHEMA,
  read: (node, reading) => {
    const place = placeOf(node);
    if (place === undefined) reading.problem(node, `A secret does not stand in this file: this must be ${WORDS} (not shown here).`);
    return place;
  },
};

/** Where a secret may, but need not, be part of it: a webhook's address often is one. */
export function orSecret(plain: Shape<string>): Shape<string | SecretPlace> {
  return {
    words: `${plain.words}, or where it stands: {env: NAME} or {file: PATH}`,
    schema: { anyOf: [plain.schema, SCHEMA] },
    read: (node, reading) => (isMap(node) ? secret.read(node, reading) : plain.read(node, reading)),
  };
}

function placeOf(node: Node): SecretPlace | undefined {
  if (!isMap(node) || node.items.length !== 1) return undefined;
  const [pair] = node.items;
  const [key, value] = [pair?.key, pair?.value];
  if (!isScalar(key) || !isScalar(value) || typeof value.value !== 'string' || value.value === '') return undefined;
  if (key.value === 'env') return ENV_NAME.test(value.value) ? { env: value.value } : undefined;
  return key.value === 'file' ? { file: value.value } : undefined;
}

export interface SecretSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The text of a file; throws where it can not be read. */
  readonly readFile: (path: string) => string;
}

/** More is no secret that anything here takes. */
const MAX_SECRET_LENGTH = 8192;
/** Of a file with a secret no more is read: in UTF-8, with its line break. */
export const MAX_SECRET_BYTES = 4 * MAX_SECRET_LENGTH + 2;

/** Fetches secrets, and knows them all afterwards, so that they can be kept out of what is said. */
export class Secrets {
  readonly texts: string[] = [];
  readonly #sources: SecretSources;

  constructor(sources: SecretSources) {
    this.#sources = sources;
  }

  /** The secret, or undefined and a problem. */
  fetch(from: SecretPlace, place: Place, reading: Reading): string | undefined {
    const found = this.#text(from);
    const text = found.text?.replace(/\r?\n$/, '');
    if (text === undefined || text === '') reading.problem(place, found.missing);
    else if (text.length > MAX_SECRET_LENGTH || /\p{Cc}/u.test(text))
      reading.problem(
        place,
        `What ${found.name} holds is no secret: it has several lines, control characters or more than ${MAX_SECRET_LENGTH} characters.`,
      );
    else {
      this.texts.push(text);
      return text;
    }
    return undefined;
  }

  #text(from: SecretPlace): { readonly text?: string | undefined; readonly name: string; readonly missing: string } {
    if ('env' in from) {
      const name = `the environment variable ${from.env}`;
      return { text: this.#sources.environment[from.env], name, missing: `Set ${name}: it is not set, or empty.` };
    }
    const name = `the file ${from.file}`;
    try {
      return { text: this.#sources.readFile(from.file), name, missing: `A secret must stand in ${name}: it is empty.` };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { name, missing: `A secret must stand in ${name}, which can not be read (${code ?? message}).` };
    }
  }
}
