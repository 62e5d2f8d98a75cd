/** What of the lake's bucket needs no Parquet: for those who only put objects there, and must not load DuckDB. */
export { type ObjectStore, StoreError } from './object-store.ts';
export { S3Store } from './s3-store.ts';
export { keepUnsendable, unsendablePrefix } from './unsendable.ts';
