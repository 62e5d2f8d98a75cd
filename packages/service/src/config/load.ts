import { unknownVariables } from './unknown.ts';
import { type ConfigOf, isVariable, type Need, type Variable, type VariableTable } from './variable.ts';

/** The configuration is wrong. One line for each fault, fit to be shown to the operator; secrets are never in it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(`The configuration is not valid:\n${lines.join('\n')}`);
    this.lines = lines;
  }
}

/** The environment's shape; an empty text counts as not set, as in compose files. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A rule over several variables: the sentence that says what is wrong (it begins with a variable's name), or undefined. */
export type Rule<C> = (config: C) => string | undefined;

const secretsByConfig = new WeakMap<object, readonly string[]>();

/** The secret values that a configuration read by `loadConfig` holds, so that the logs can strike them out. */
export function secretsOf(config: object): readonly string[] {
  return secretsByConfig.get(config) ?? [];
}

const unknownByConfig = new WeakMap<object, readonly string[]>();

/** A sentence for each variable that was set when `loadConfig` read this configuration, is named like one of ours and has no effect. */
export function unknownOf(config: object): readonly string[] {
  return unknownByConfig.get(config) ?? [];
}

/**
 * Reads all variables of a table from `environment` into one frozen object.
 * @throws ConfigError with one line for every variable that is missing or not valid, and then for every rule that is broken.
 */
export function loadConfig<const T extends VariableTable>(
  table: T,
  environment: Environment,
  rules: readonly Rule<ConfigOf<T>>[] = [],
): ConfigOf<T> {
  const reading: Reading = { environment, faults: [], secrets: [] };
  // The values are built from the table that ConfigOf is derived from; TypeScript can not follow that through a loop.
  const config = readTable(table, reading) as ConfigOf<T>;
  const faults = reading.faults.length > 0 ? reading.faults : rules.flatMap((rule) => rule(config) ?? []);
  if (faults.length > 0) throw new ConfigError(faults);
  secretsByConfig.set(config, reading.secrets);
  unknownByConfig.set(config, unknownVariables(table, environment));
  return config;
}

interface Reading {
  readonly environment: Environment;
  readonly faults: string[];
  readonly secrets: string[];
}

function readTable(table: VariableTable, reading: Reading): object {
  const values: Record<string, unknown> = {};
  for (const [property, entry] of Object.entries(table)) {
    const value = isVariable(entry) ? readVariable(entry, reading) : readTable(entry, reading);
    if (value !== undefined) values[property] = value;
  }
  return Object.freeze(values);
}

function readVariable(variable: Variable, { environment, faults, secrets }: Reading): unknown {
  const { name, format, need } = variable;
  const given = environment[name] || (typeof need === 'object' && 'default' in need ? need.default : undefined);
  if (given === undefined) {
    const missing = whyNeeded(need, environment);
    if (missing !== undefined) faults.push(`${name} is not set${missing}; expected ${expectedOf(variable)}. ${variable.about}`);
    return undefined;
  }
  const read = format.safeParse(given);
  if (!read.success) {
    faults.push(`${name} is not valid: ${variable.secret ? '(a secret, not shown)' : shown(given)}; expected ${expectedOf(variable)}.`);
    return undefined;
  }
  if (variable.secret) secrets.push(given);
  return read.data;
}

/** The words behind "is not set" when the variable has to be set, or undefined when it may be absent. */
function whyNeeded(need: Need, environment: Environment): string | undefined {
  if (need === 'required') return '';
  if (typeof need === 'string' || 'default' in need) return undefined;
  const other = environment[need.requiredWhen];
  if (!other) return undefined;
  if (need.is === undefined) return ` although ${need.requiredWhen} is`;
  return need.is.includes(other.toLowerCase()) ? ` and ${need.requiredWhen} is ${other}` : undefined;
}

export function expectedOf(variable: Variable): string {
  return variable.format.description ?? 'text';
}

const SHOWN_CHARACTERS = 80;

/** A value as it may be printed: bounded, on one line, without the credentials that a URL may hold. */
function shown(value: string): string {
  const masked = value.replaceAll(/\/\/[^/@]*@/g, '//(not shown)@');
  return JSON.stringify(masked.length > SHOWN_CHARACTERS ? `${masked.slice(0, SHOWN_CHARACTERS)}...` : masked);
}
