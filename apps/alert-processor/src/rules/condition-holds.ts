import type { Condition } from './rule.ts';

export function conditionHolds({ operator, threshold }: Condition, value: number): boolean {
  switch (operator) {
    case '>':
      return value > threshold;
    case '>=':
      return value >= threshold;
    case '<':
      return value < threshold;
    case '<=':
      return value <= threshold;
  }
}
