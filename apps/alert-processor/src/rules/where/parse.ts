import { type FieldPath, fieldNamed, OPERATORS, type Operator, readComparison, readFieldPath } from '@tailrace/events';
import { fieldPath } from '../field-path.ts';
import {
  type Expression,
  type ExpressionProblem,
  MAX_EXPRESSION_DEPTH,
  MAX_EXPRESSION_LENGTH,
  TEXT_TESTS,
  type TextTest,
  type Written,
} from './expression.ts';
import { type Token, tokensOf } from './tokens.ts';

export type ParsedExpression =
  | { readonly expression: Expression }
  | { readonly problems: readonly [ExpressionProblem, ...ExpressionProblem[]] };

/**
 * Reads an expression. Never throws. Each problem is one sentence that says what would fit, and where it is: all that is wrong with fields and what they are
 * held against, up to the first place where it is no expression any more.
 */
export function parseExpression(text: string): ParsedExpression {
  if (text.length > MAX_EXPRESSION_LENGTH)
    return {
      problems: [{ problem: `An expression has at most ${MAX_EXPRESSION_LENGTH} characters: this one has ${text.length}.`, at: 0 }],
    };
  const tokens = tokensOf(text);
  if ('problem' in tokens) return { problems: [tokens] };
  const parser = new Parser(tokens);
  let expression: Expression | undefined;
  try {
    expression = parser.whole();
  } catch (error) {
    // Safe: what the parser throws is what it has to say.
    if (!(error instanceof Unfit)) throw error;
    parser.note(error.message, error.at);
  }
  const [first, ...others] = parser.problems;
  if (first !== undefined) return { problems: [first, ...others] };
  if (expression === undefined) throw new Error('an expression without a problem was not read');
  return { expression };
}

class Unfit extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/** In the place of a field that there is not: such an expression is never used. */
const UNKNOWN: FieldPath = { attribute: '' };

/** `or` binds least, then `and`, then `not`. */
class Parser {
  /** In the order in which they were met. */
  readonly problems: ExpressionProblem[] = [];
  readonly #tokens: readonly [Token, ...Token[]];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly [Token, ...Token[]]) {
    this.#tokens = tokens;
  }

  /** The same field may be met more than once in one place: `in (…)` holds it against each value. */
  note(problem: string, at: number): void {
    if (!this.problems.some((told) => told.at === at && told.problem === problem)) this.problems.push({ problem, at });
  }

  whole(): Expression {
    if (this.#peek().kind === 'end') throw new Unfit('The expression is empty: write a comparison, like status_code >= 500.', 0);
    const expression = this.#list('or');
    const { kind, text, at } = this.#peek();
    if (kind !== 'end')
      throw new Unfit(`${JSON.stringify(text)} is too much here: join comparisons with "and" or "or".${smallLetters(text)}`, at);
    return expression;
  }

  #list(kind: 'or' | 'and'): Expression {
    const parts: Expression[] = [];
    do {
      const part = kind === 'or' ? this.#list('and') : this.#unary();
      parts.push(...(part.kind === kind ? part.parts : [part]));
    } while (this.#took('name', kind));
    const [only] = parts;
    return only !== undefined && parts.length === 1 ? only : { kind, parts };
  }

  #unary(): Expression {
    const { at } = this.#peek();
    const isNot = this.#took('name', 'not');
    if (!isNot && !this.#took('sign', '(')) return this.#predicate();
    if (++this.#depth > MAX_EXPRESSION_DEPTH)
      throw new Unfit(`At most ${MAX_EXPRESSION_DEPTH} parentheses and "not" may stand in each other.`, at);
    const part = isNot ? this.#unary() : this.#list('or');
    if (!isNot) this.#sign(')');
    this.#depth--;
    return isNot ? { kind: 'not', part } : part;
  }

  #predicate(): Expression {
    const name = this.#take();
    if (name.kind !== 'name') throw new Unfit(`A field is expected${instead(name)}: write a comparison, like status_code >= 500.`, name.at);
    const call = this.#peek();
    if (call.kind === 'sign' && call.text === '(') return this.#test(name);
    if (this.#took('name', 'in')) return this.#in(name);
    const operator = this.#take();
    if (operator.kind !== 'operator') {
      const what = this.#isWord(name) ? `${JSON.stringify(name.text)} needs a comparison` : `A comparison is expected behind ${name.text}`;
      throw new Unfit(`${what}: one of ${OPERATORS.join(' ')}, or in (…).${smallLetters(name.text)}`, operator.at);
    }
    return { kind: 'comparison', comparison: this.#compared(name, operator.text as Operator, this.#take()) };
  }

  #in(name: Token): Expression {
    this.#sign('(');
    const first = this.#compared(name, '=', this.#take());
    const others: Written[] = [];
    while (this.#took('sign', ',')) others.push(this.#compared(name, '=', this.#take()));
    this.#sign(')');
    return { kind: 'in', comparisons: [first, ...others] };
  }

  #test(test: Token): Expression {
    this.#sign('(');
    const isText = TEXT_TESTS.some((each) => each === test.text);
    if (!isText && test.text !== 'exists')
      throw new Unfit(
        `There is no ${test.text}(…): there are exists(field), ${TEXT_TESTS.map((each) => `${each}(field, "text")`).join(' and ')}.`,
        test.at,
      );
    const field = this.#field();
    if (!isText) {
      this.#sign(')');
      return { kind: 'exists', field: field.path };
    }
    if (!holdsText(field.path)) this.note(`${test.text} looks into texts, and ${field.token.text} is none.`, field.token.at);
    this.#sign(',');
    const text = this.#take();
    if (text.kind !== 'string') throw new Unfit(`A text in double quotes is expected${instead(text)}.`, text.at);
    this.#sign(')');
    return { kind: test.text as TextTest, field: field.path, text: text.text };
  }

  #field(): { readonly path: FieldPath; readonly token: Token } {
    const token = this.#take();
    if (token.kind !== 'name') throw new Unfit(`A field is expected${instead(token)}.`, token.at);
    const path = fieldPath(token.text);
    if (!('problem' in path)) return { path, token };
    this.note(path.problem, token.at);
    return { path: UNKNOWN, token };
  }

  #compared(name: Token, operator: Operator, value: Token): Written {
    const inQuotes = value.kind === 'string';
    const bare = value.kind === 'number' || (value.kind === 'name' && (value.text === 'true' || value.text === 'false'));
    if (!inQuotes && !bare)
      throw new Unfit(
        value.kind === 'name'
          ? `Put the text ${value.text} in double quotes.`
          : `A number, true, false or a text in double quotes is expected${instead(value)}.`,
        value.at,
      );
    const path = fieldPath(name.text);
    const comparison = 'problem' in path ? path : readComparison(name.text, operator, { text: value.text, inQuotes });
    if ('problem' in comparison) {
      this.note(comparison.problem, name.at);
      return { field: UNKNOWN, operator, operand: { kind: 'text', value: '' }, text: value.text };
    }
    if (!inQuotes && comparison.operand.kind !== 'number' && comparison.operand.kind !== 'boolean')
      this.note(`Put the text ${value.text} in double quotes.`, value.at);
    return { ...comparison, text: value.text };
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? this.#tokens[0];
  }

  /** The end is never passed. */
  #take(): Token {
    const token = this.#peek();
    if (token.kind !== 'end') this.#next++;
    return token;
  }

  #took(kind: Token['kind'], text: string): boolean {
    const token = this.#peek();
    if (token.kind !== kind || token.text !== text) return false;
    this.#next++;
    return true;
  }

  #sign(text: string): void {
    const token = this.#peek();
    if (!this.#took('sign', text)) throw new Unfit(`${JSON.stringify(text)} is expected${instead(token)}.`, token.at);
  }

  #isWord(name: Token): boolean {
    return 'problem' in readFieldPath(name.text);
  }
}

function holdsText(path: FieldPath): boolean {
  return 'attribute' in path || fieldNamed(path.known)?.kind === 'string';
}

function instead({ kind, text }: Token): string {
  return kind === 'end' ? ', and the expression ends' : `, and there is ${JSON.stringify(text)}`;
}

function smallLetters(text: string): string {
  return /^(AND|OR|NOT|IN)$/.test(text) ? ` (In small letters: ${text.toLowerCase()}.)` : '';
}
