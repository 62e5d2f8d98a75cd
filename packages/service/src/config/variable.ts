import type { z } from 'zod';

/** Reads a variable's text. Its description says what is expected, and is what people see when the text is not valid. */
export type Format<T> = z.ZodType<T, string>;

/** When a variable must be set. `requiredWhen` names another variable that is set, or has one of the values `is`. */
export type Need =
  | 'required'
  | 'optional'
  | { readonly default: string }
  | { readonly requiredWhen: string; readonly is?: readonly string[] };

/** One environment variable, as data: reading, checking and the docs page come from it. */
export interface Variable {
  readonly name: string;
  readonly about: string;
  readonly format: Format<unknown>;
  readonly need: Need;
  /** A secret's value is never printed and is struck out of the logs. */
  readonly secret?: true;
}

/** The variables of a process by the property under which its code reads them. Tables may stand inside tables. */
export interface VariableTable {
  readonly [property: string]: Variable | VariableTable;
}

type ValueOf<E> = E extends { readonly format: Format<infer T> } ? T : E extends VariableTable ? ConfigOf<E> : never;
type MayBeAbsent<E> = E extends { readonly need: 'optional' | { readonly requiredWhen: string } } ? true : false;

/** The typed object that a table of variables gives. */
export type ConfigOf<T extends VariableTable> = {
  readonly [K in keyof T as MayBeAbsent<T[K]> extends true ? never : K]: ValueOf<T[K]>;
} & {
  readonly [K in keyof T as MayBeAbsent<T[K]> extends true ? K : never]?: ValueOf<T[K]>;
};

export function isVariable(entry: Variable | VariableTable): entry is Variable {
  return 'format' in entry;
}

/** All variables of a table, in its order, those of inner tables included. */
export function variablesOf(table: VariableTable): readonly Variable[] {
  return Object.values(table).flatMap((entry) => (isVariable(entry) ? [entry] : variablesOf(entry)));
}
