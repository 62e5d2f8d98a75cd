import type { Clock } from '@tailrace/kafka-kit';
import { isNode, type Node } from 'yaml';
import { Reading, type RuleProblem } from '../rules/reading.ts';
import { items, readKeys, type Shape } from '../rules/shapes.ts';
import type { Lookup } from './address-guard.ts';
import { hidingSecrets } from './hiding-secrets.ts';
import type { Notifier } from './notifier.ts';
import { COMMON_KEYS, KIND_NAMES, NOTIFIER_KINDS, type NotifierKind } from './notifier-kinds.ts';
import { type SecretSources, Secrets } from './secret.ts';

export interface NotifiersOptions extends SecretSources {
  /** As problems name it. */
  readonly file: string;
  readonly clock: Clock;
  /** The system's, but in tests. */
  readonly lookup?: Lookup;
}

/** `names`: of all that stand in the file, also of those with problems; undefined where it can not be told which. */
export type ReadNotifiers =
  | { readonly notifiers: readonly Notifier[]; readonly names: readonly string[] }
  | { readonly problems: readonly RuleProblem[]; readonly names: readonly string[] | undefined };

const WHAT = 'a notifiers file';
const MAX_NOTIFIERS = 32;

/** A notifier's keys are read once its kind is known: here it is only its node. */
const anyNotifier: Shape<Node> = {
  words: 'a map with the keys of a notifier',
  schema: { anyOf: KIND_NAMES.map((name) => schemaOf(name)) },
  read: (node) => node,
};

export const NOTIFIERS_FILE = {
  notifiers: { shape: items(anyNotifier, { max: MAX_NOTIFIERS, what: 'notifiers' }), required: true, about: 'Who is told.' },
} as const;

/** Reads a notifiers file: notifiers that are ready to send, or every problem with its line and column. Never throws, and no problem shows a secret. */
export function readNotifiers(text: string, options: NotifiersOptions): ReadNotifiers {
  const reading = new Reading(options.file, text, { what: WHAT });
  const { root } = reading;
  if (root === undefined) {
    if (reading.problems.length === 0) reading.problem(0, 'The file is empty: it has at least notifiers: [].');
    return { problems: reading.told(), names: undefined };
  }
  const names: string[] = [];
  const notifiers = new Map<string, Notifier>();
  for (const { node } of readKeys(NOTIFIERS_FILE, WHAT, root, reading).notifiers ?? []) {
    const name = scalarOf(reading.find(node, 'name'));
    if (typeof name === 'string') names.push(name);
    const notifier = open(node, reading, options);
    if (notifier === undefined) continue;
    if (notifiers.has(notifier.name))
      reading.problem(reading.find(node, 'name'), `There is another notifier named ${notifier.name}: names are unique.`);
    notifiers.set(notifier.name, notifier);
  }
  if (reading.problems.length > 0) return { problems: reading.told(), names };
  return { notifiers: [...notifiers.values()], names };
}

function open(node: Node, reading: Reading, options: NotifiersOptions): Notifier | undefined {
  const before = reading.problems.length;
  const kindNode = reading.find(node, 'kind');
  const name = kindNode === node || kindNode === undefined ? undefined : KIND_NAMES.find((each) => each === scalarOf(kindNode));
  if (name === undefined) {
    // Keys of a kind that is not known are not judged.
    if (kindNode === node || kindNode === undefined)
      reading.problem(node, `The key kind is missing: it is one of ${KIND_NAMES.join(', ')}.`);
    else if (isNode(kindNode)) COMMON_KEYS.kind.shape.read(kindNode, reading);
    return undefined;
  }
  const kind = NOTIFIER_KINDS[name] as unknown as NotifierKind;
  const values = readKeys({ ...COMMON_KEYS, ...kind.keys }, `a notifier of kind ${name}`, node, reading) as Readonly<
    Record<string, unknown>
  >;
  if (reading.problems.length > before) return undefined;
  const secrets = new Secrets(options);
  const notifier = kind.open(String(values.name), values, {
    clock: options.clock,
    ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
    text: (key, value) => (typeof value === 'string' ? value : secrets.fetch(value, reading.find(node, key), reading)),
    problem: (key, sentence) => {
      reading.problem(reading.find(node, key), sentence);
      return undefined;
    },
  });
  return notifier === undefined || reading.problems.length > before ? undefined : hidingSecrets(notifier, secrets.texts);
}

function scalarOf(node: unknown): unknown {
  return (node as { readonly value?: unknown } | null | undefined)?.value;
}

function schemaOf(name: (typeof KIND_NAMES)[number]): object {
  const keys = { ...COMMON_KEYS, ...(NOTIFIER_KINDS[name] as unknown as NotifierKind).keys };
  const entries = Object.entries(keys);
  return {
    type: 'object',
    description: NOTIFIER_KINDS[name].about,
    properties: {
      ...Object.fromEntries(entries.map(([key, { shape, about }]) => [key, { description: about, ...shape.schema }])),
      kind: { const: name },
    },
    required: entries.flatMap(([key, { required }]) => (required === true ? [key] : [])),
    additionalProperties: false,
  };
}

/** The JSON Schema of the file, for editors. */
export function notifiersSchema(): object {
  const { shape, about } = NOTIFIERS_FILE.notifiers;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Notifiers of tailrace',
    type: 'object',
    properties: { notifiers: { description: about, ...shape.schema } },
    required: ['notifiers'],
    additionalProperties: false,
  };
}
