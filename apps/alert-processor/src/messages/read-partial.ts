import type { Partial } from '../measures/partial.ts';
import { MessageError, readList, readNumber, readText, readWhole } from './fields.ts';

/** Reads a pane's partial; throws a `MessageError` where it is none. */
export function readPartial(value: unknown): Partial {
  const [kind, n, third, more] = readList(value, 'partial');
  const events = readWhole(n, 'number of events');
  switch (kind) {
    case 'count':
      return ['count', events];
    case 'ratio':
      return ['ratio', events, readWhole(third, 'hits')];
    case 'sum':
      return ['sum', events, readNumber(third, 'sum')];
    case 'sketch':
      return ['sketch', events, readText(third, 'sketch')];
    case 'distinct': {
      const values = readList(third, 'values');
      for (const each of values) readText(each, 'value');
      if (typeof more !== 'boolean') throw new MessageError('a distinct partial does not say whether there were more values');
      return ['distinct', events, values as readonly string[], more];
    }
    default:
      throw new MessageError(`its partial is of the kind ${JSON.stringify(kind)}`);
  }
}
