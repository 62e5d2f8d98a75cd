/** Which values a measure can have: a condition that none of them meets, or every one, is a slip. */
import { type FieldPath, fieldNamed } from '@tailrace/events';
import { RELATIVE_ACCURACY } from '../measures/bins.ts';
import type { Condition } from './rule.ts';
import { DEFAULTS, type measureForm } from './rule-keys.ts';
import type { Shape } from './shapes.ts';

export type MeasureValue = typeof measureForm extends Shape<infer T> ? T : never;

/** From `min` to `max`, both among them. `says`: the same in words. */
export interface MeasureRange {
  readonly min: number;
  readonly max: number;
  readonly says: string;
}

type RangeTable = { readonly [K in MeasureValue['kind']]: (value: Extract<MeasureValue, { readonly kind: K }>['value']) => MeasureRange };

const UP = Number.POSITIVE_INFINITY;

const RANGES: RangeTable = {
  plain: () => ({ min: 0, max: UP, says: 'A count is 0 or more' }),
  ratio: () => ({ min: 0, max: 1, says: 'A ratio lies between 0 and 1 (0.2 is 20 percent)' }),
  sum: (field) => {
    const { min } = fieldRange(field);
    return min >= 0 ? { min: 0, max: UP, says: 'A sum of this field is 0 or more' } : { min, max: UP, says: 'A sum can be any number' };
  },
  mean: (field) => ofField(fieldRange(field)),
  percentile: ({ field }) => {
    const { min, max } = fieldRange(field);
    return { ...ofField({ min, max }), min: min * (1 - RELATIVE_ACCURACY), max: max * (1 + RELATIVE_ACCURACY) };
  },
  distinct: ({ limit = DEFAULTS.distinctLimit }) => ({
    min: 0,
    max: limit + 1,
    says: `Different values are counted from 0 to the limit of ${limit}`,
  }),
  rate: () => ({ min: 0, max: UP, says: 'A rate is 0 or more (2 is twice as many as earlier)' }),
};

/** As the field table has it: the gateway refuses other numbers. */
function fieldRange(path: FieldPath): { readonly min: number; readonly max: number } {
  const field = 'known' in path ? fieldNamed(path.known) : undefined;
  const { min = -UP, max = UP } = field?.kind === 'number' || field?.kind === 'integer' ? field : {};
  return { min, max };
}

function ofField({ min, max }: { readonly min: number; readonly max: number }): MeasureRange {
  return { min, max, says: max < Number.MAX_SAFE_INTEGER ? `This field lies between ${min} and ${max}` : `This field is ${min} or more` };
}

export function measureRange(measure: MeasureValue): MeasureRange {
  // Safe: the row of the measure's kind takes the value of that kind.
  return (RANGES[measure.kind] as (value: unknown) => MeasureRange)(measure.value);
}

/** Why the condition says nothing of the measure: no value that it can have meets it, or each does. Undefined where it does. */
export function conditionFault(measure: MeasureValue, { operator, threshold }: Condition): string | undefined {
  const { min, max, says } = measureRange(measure);
  const [never, always] = {
    '>': [threshold >= max, threshold < min],
    '>=': [threshold > max, threshold <= min],
    '<': [threshold <= min, threshold > max],
    '<=': [threshold < min, threshold >= max],
  }[operator];
  if (!never && !always) return undefined;
  return `${says}, so "${operator} ${threshold}" ${never ? 'never' : 'always'} holds${percent(measure, operator, threshold)}.`;
}

/** What somebody means who writes a ratio in percent. */
function percent({ kind }: MeasureValue, operator: string, threshold: number): string {
  return kind === 'ratio' && threshold > 1 && threshold <= 100
    ? `: ${threshold} percent is "${operator} ${Number((threshold / 100).toPrecision(12))}"`
    : '';
}
