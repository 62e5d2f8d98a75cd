import { ATTRIBUTE_PREFIX, type FieldPath } from '@tailrace/events';
import type { Expression, Written } from './expression.ts';

/** The one way to write an expression: two that mean the same part by part are printed alike, whatever their blanks, parentheses and number forms. */
export function printExpression(expression: Expression): string {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.parts
        .map((part) => (part.kind === 'or' ? `(${printExpression(part)})` : printExpression(part)))
        .join(` ${expression.kind} `);
    case 'not': {
      const { part } = expression;
      return part.kind === 'and' || part.kind === 'or' ? `not (${printExpression(part)})` : `not ${printExpression(part)}`;
    }
    case 'comparison': {
      const { comparison } = expression;
      return `${printField(comparison.field)} ${comparison.operator} ${printValue(comparison)}`;
    }
    case 'in':
      return `${printField(expression.comparisons[0].field)} in (${expression.comparisons.map(printValue).join(', ')})`;
    case 'exists':
      return `exists(${printField(expression.field)})`;
    case 'starts_with':
    case 'contains':
      return `${expression.kind}(${printField(expression.field)}, ${JSON.stringify(expression.text)})`;
  }
}

function printValue({ operand, text }: Written): string {
  return operand.kind === 'instant' ? JSON.stringify(text) : JSON.stringify(operand.value);
}

function printField(path: FieldPath): string {
  if ('known' in path) return path.known;
  return `${ATTRIBUTE_PREFIX}${/^[A-Za-z0-9_.-]+$/.test(path.attribute) ? path.attribute : JSON.stringify(path.attribute)}`;
}
