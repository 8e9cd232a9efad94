import { describeClusterWriter } from './testing/cluster-writer-cases.ts';
import { InMemoryJobRowStore } from './testing/in-memory-job-row-store.ts';

describeClusterWriter('in memory', () => {
  const rows = new InMemoryJobRowStore();
  return Promise.resolve({
    rows,
    insert: (job) => Promise.resolve(rows.insert(job)),
    change: (jobId, change) => Promise.resolve(rows.change(jobId, change)),
    eventsOf: (jobId) => Promise.resolve(rows.eventsOf(jobId)),
  });
});
