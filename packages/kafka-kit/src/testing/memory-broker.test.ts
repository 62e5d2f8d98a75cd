import { brokerConformance } from './broker-conformance.ts';
import { ManualClock } from './manual-clock.ts';
import { MemoryCluster } from './memory-cluster.ts';

brokerConformance('memory', async () => {
  const clock = new ManualClock();
  const cluster = new MemoryCluster(clock);
  let names = 0;
  const fresh = (what: string): string => {
    names += 1;
    return `${what}-${names}`;
  };
  return {
    topic: async (partitions) => {
      const name = fresh('topic');
      cluster.createTopic(name, partitions);
      return name;
    },
    remake: async (topic) => cluster.recreateTopic(topic),
    write: async (tp, records) => cluster.append(tp, ...records),
    deleteBefore: async (tp, offset) => cluster.log(tp).deleteBefore(offset),
    committed: async (group, tp) => cluster.group(group).committed(tp),
    member: (group) => cluster.consumer(group),
    group: () => fresh('group'),
    run: async (work) => {
      let done = false;
      const end = (): void => {
        done = true;
      };
      work.then(end, end);
      await clock.until(() => done, 'the work');
      return work;
    },
  };
});
