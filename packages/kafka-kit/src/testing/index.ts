export { deleteRecordsBefore } from './delete-records.ts';
export { ManualClock } from './manual-clock.ts';
export { MemoryCluster } from './memory-cluster.ts';
export { MemoryConsumer } from './memory-consumer.ts';
export { MemoryGroup, type TakenCommit } from './memory-group.ts';
export { MemoryLog, type NewRecord } from './memory-log.ts';
export { MemoryProducer, type ProducerFaults } from './memory-producer.ts';
export { TransactionalProducer } from './transactions.ts';
