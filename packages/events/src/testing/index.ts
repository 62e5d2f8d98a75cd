export { type GoldenRecord, goldenRecords } from './golden.ts';
