import { comparisonHolds, type FieldPath, fieldReader } from '@tailrace/events';
import type { EventObject } from '../rule.ts';
import type { Expression, Written } from './expression.ts';

export type Test = (event: EventObject) => boolean;

/** A function for the expression. It never throws, whatever the event holds; nothing is made from text but closures. */
export function compileExpression(expression: Expression): Test {
  switch (expression.kind) {
    case 'and':
      return every(expression.parts.map(compileExpression));
    case 'or':
      return some(expression.parts.map(compileExpression));
    case 'not': {
      const test = compileExpression(expression.part);
      return (event) => !test(event);
    }
    case 'comparison': {
      const { comparison } = expression;
      return (event) => comparisonHolds(comparison, event);
    }
    case 'in':
      return oneOf(expression.comparisons);
    case 'exists': {
      const read = fieldReader(expression.field);
      return (event) => (read(event) ?? null) !== null;
    }
    case 'starts_with':
      return textTest(expression.field, (found) => found.startsWith(expression.text));
    case 'contains':
      return textTest(expression.field, (found) => found.includes(expression.text));
  }
}

function every(tests: readonly Test[]): Test {
  const [a, b, ...more] = tests;
  // Two are what most rules have, and a loop costs more than they do.
  if (a !== undefined && b !== undefined && more.length === 0) return (event) => a(event) && b(event);
  return (event) => tests.every((test) => test(event));
}

function some(tests: readonly Test[]): Test {
  const [a, b, ...more] = tests;
  if (a !== undefined && b !== undefined && more.length === 0) return (event) => a(event) || b(event);
  return (event) => tests.some((test) => test(event));
}

/** Texts, the most of it, by one look into a set. */
function oneOf(comparisons: readonly [Written, ...Written[]]): Test {
  const read = fieldReader(comparisons[0].field);
  const texts = new Set(comparisons.flatMap(({ operand }) => (operand.kind === 'text' ? [operand.value] : [])));
  const others = comparisons.filter(({ operand }) => operand.kind !== 'text');
  return (event) => {
    const found = read(event);
    return (typeof found === 'string' && texts.has(found)) || others.some((comparison) => comparisonHolds(comparison, event));
  };
}

function textTest(field: FieldPath, test: (found: string) => boolean): Test {
  const read = fieldReader(field);
  return (event) => {
    const found = read(event);
    return typeof found === 'string' && test(found);
  };
}
