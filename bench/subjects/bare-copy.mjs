// The bare loop that consumes and produces records as they are.
import { measureCopy } from '../lib/copy.mjs';

await measureCopy(({ headers }) => headers);
