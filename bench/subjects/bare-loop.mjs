// A bare `consume(1000)` loop that only counts.
import { readAll } from '../lib/bare-consumer.mjs';
import { measured, task } from '../lib/subject.mjs';

await measured((firstRecord) => readAll(task(), () => firstRecord()));
