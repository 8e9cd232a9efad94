import { MAX_FABRIC_JOBS } from '@coxswain/api-types';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { holdingJobs } from './fabric-jobs.ts';

const CLUSTER = { id: '3f1c2b9e-0000-4000-8000-000000000000', name: 'here' };
const row = (index: number, placement = 'p') => ({
  id: `job-${index}`,
  project: 'research',
  name: `job-${index}`,
  attempt: { epoch: 1, placement },
  placement_name: 'p',
  spec: { epoch: 1, nodes: ['a'] },
});

describe('jobs that hold GPUs', () => {
  it.each([
    ['are all told where there are few', 3, { jobs: 3, hasMore: false }],
    ['are as many as one answer has', MAX_FABRIC_JOBS, { jobs: MAX_FABRIC_JOBS, hasMore: false }],
    ['may be more', MAX_FABRIC_JOBS + 1, { jobs: MAX_FABRIC_JOBS, hasMore: true }],
  ])('%s', async (_sentence, count, want) => {
    const sql = scriptedSql([[/FROM jobs/, Array.from({ length: count }, (_, index) => row(index))]]);
    const { jobs, hasMore } = await holdingJobs(sql, CLUSTER);
    expect({ jobs: jobs.length, hasMore }).toEqual(want);
  });

  it('may be more, too, where some of the newest have a Placement that is not theirs', async () => {
    const rows = Array.from({ length: MAX_FABRIC_JOBS + 1 }, (_, index) => row(index, index < 5 ? 'other' : 'p'));
    const { jobs, hasMore } = await holdingJobs(scriptedSql([[/FROM jobs/, rows]]), CLUSTER);
    expect([jobs.length, hasMore]).toEqual([MAX_FABRIC_JOBS - 5, true]);
  });
});
