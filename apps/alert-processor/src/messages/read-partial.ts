import type { Bins, Partial } from '../measures/partial.ts';
import { MessageError, readList, readNumber, readText, readWhole } from './fields.ts';

/** Reads a pane's partial; throws a `MessageError` where it is none. */
export function readPartial(value: unknown): Partial {
  const [kind, n, third, fourth] = readList(value, 'partial');
  const events = readWhole(n, 'number of events');
  switch (kind) {
    case 'count':
      return ['count', events];
    case 'ratio':
      return ['ratio', events, readWhole(third, 'hits')];
    case 'sum':
      return ['sum', events, readNumber(third, 'sum')];
    case 'sketch':
      return ['sketch', events, readBins(third), readBins(fourth)];
    case 'distinct': {
      const limit = readWhole(third, 'limit');
      if (fourth === null) return ['distinct', events, limit, null];
      return ['distinct', events, limit, readList(fourth, 'values').map((each) => readText(each, 'value'))];
    }
    default:
      throw new MessageError(`its partial is of the kind ${JSON.stringify(kind)}`);
  }
}

/** Pairs of index and count, with rising indices: merging goes along them. */
function readBins(value: unknown): Bins {
  const bins = readList(value, 'bins');
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < bins.length; i += 2) {
    const index = readNumber(bins[i], 'bin');
    if (!Number.isInteger(index) || index <= last) throw new MessageError('the bins of a sketch do not rise');
    readWhole(bins[i + 1], 'count of a bin');
    last = index;
  }
  return bins as Bins;
}
