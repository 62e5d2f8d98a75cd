export { type Field, MAX_EVENT_BYTES, serviceEventFields } from './fields.ts';
