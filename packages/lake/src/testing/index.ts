export { ArchivedLake, run } from './archived-lake.ts';
export { FaultyProxy, type ProxyFault } from './faulty-proxy.ts';
export { CHAIN, footerOf, inFolder, readRecords, recordAt, rowsOf, type WrittenFile, writeRecords } from './lake-files.ts';
export { MemoryStore } from './memory-store.ts';
export { BASE_EVENT, jsonText, mutated, oddValues } from './values.ts';
