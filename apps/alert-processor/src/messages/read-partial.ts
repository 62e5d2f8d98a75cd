import type { Partial, PartialKind } from '../measures/partial.ts';
import { MessageError, readList, readNumber, readText, readWhole } from './fields.ts';

/** Members that a partial of each kind has. */
const LENGTHS: Readonly<Record<PartialKind, number>> = { count: 2, ratio: 3, sum: 3, sketch: 4, distinct: 4 };

/** Reads a pane's partial, which is a partial as it stands; throws a `MessageError` where it is none. */
export function readPartial(value: unknown): Partial {
  const list = readList(value, 'partial');
  const kind = list[0] as PartialKind;
  readWhole(list[1], 'number of events');
  switch (kind) {
    case 'count':
      break;
    case 'ratio':
      readWhole(list[2], 'hits');
      break;
    case 'sum':
      readNumber(list[2], 'sum');
      break;
    case 'sketch':
      readBins(list[2]);
      readBins(list[3]);
      break;
    case 'distinct':
      readWhole(list[2], 'limit');
      if (list[3] !== null) for (const each of readList(list[3], 'values')) readText(each, 'value');
      break;
    default:
      throw new MessageError(`its partial is of the kind ${JSON.stringify(kind)}`);
  }
  if (list.length !== LENGTHS[kind]) throw new MessageError(`a partial of the kind ${kind} has ${list.length} members`);
  return list as unknown as Partial;
}

/** Pairs of index and count, with rising indices: merging goes along them. */
function readBins(value: unknown): void {
  const bins = readList(value, 'bins');
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < bins.length; i += 2) {
    const index = readNumber(bins[i], 'bin');
    if (!Number.isInteger(index) || index <= last) throw new MessageError('the bins of a sketch do not rise');
    readWhole(bins[i + 1], 'count of a bin');
    last = index;
  }
}
