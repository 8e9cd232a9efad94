import { aJob } from '@coxswain/api-types/testing';
import { jobDetails } from './job-tables.ts';

const NOW = new Date('2026-11-25T12:00:00Z');
const PROGRESS = {
  step: 120,
  totalSteps: 400,
  loss: 2.312,
  tokensPerSecond: 51_200,
  etaSeconds: 123,
  reportedAt: NOW.toISOString(),
};

describe('the details of a job', () => {
  it.each([
    ['Running', 'step 120 of 400, loss 2.3120, 51,200 tokens/s, 2 min 3 s left'],
    ['Suspended', 'step 120 of 400, loss 2.3120, 51,200 tokens/s'],
    ['Failed', 'step 120 of 400, loss 2.3120, 51,200 tokens/s'],
    ['Complete', 'step 120 of 400, loss 2.3120, 51,200 tokens/s'],
  ] as const)('say the time that is left only while it runs: %s', (state, progress) => {
    const lines = jobDetails({ ...aJob(), state, progress: PROGRESS }, NOW).split('\n');
    expect(lines.find((line) => line.startsWith('Progress'))?.replace(/^Progress:\s+/, '')).toBe(progress);
  });
});
