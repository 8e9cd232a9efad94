import { hungReasons } from './hung-reasons.ts';

describe('what only a new process mends', () => {
  it('is nothing while looks at jobs end and the thread of the reports tells something', () => {
    expect(hungReasons({ stalledMs: 600_000, silentMs: 120_000 })).toEqual([]);
  });

  it('is a look at jobs that does not end for ten minutes', () => {
    expect(hungReasons({ stalledMs: 601_000, silentMs: 0 })).toEqual(['no look at a job has ended for 601 s']);
  });

  it('is a thread of the reports that has told nothing for two minutes, however often it was started', () => {
    expect(hungReasons({ stalledMs: 0, silentMs: 121_000 })).toEqual(['no digest from the ingest thread for 121 s']);
  });
});
