import type { Job, StartVerdict } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { runCommand } from '../testing/run-command.ts';

const JOBS = 'GET /v1/projects/research/jobs';
const sse = (job: Job): string => `event: job\ndata: ${JSON.stringify(job)}\n\n`;
const waiting = (reason: string, sentence: string, change: string | null): Job => {
  const whyNotTraining: StartVerdict = { reason, condition: 'Placed', sentence, change, object: null };
  return aJob({ state: 'Queued', summary: sentence, whyNotTraining });
};

describe('coxswain watch of a job that does not train yet', () => {
  it('prints each change of the reason once, with the change that helps, and that it trains', async () => {
    const first = waiting('ObjectMissing', 'PersistentVolumeClaim corpse does not exist.', 'Create corpse.');
    const second = waiting('PodsStarting', 'The containers of attempt 1 are starting.', null);
    const ended = aJob({ state: 'Complete', summary: 'Done.' });
    const stream = [first, { ...first, version: 2 }, second, aJob(), { ...aJob(), version: 9 }, ended]
      .map(sse)
      .join('');
    const { out } = await runCommand('watch tiny-gpt', {
      [JOBS]: { json: { items: [first] } },
      [`${JOBS}/${first.id}`]: { json: first },
      [`${JOBS}/${first.id}/events/stream`]: { stream, end: 'never' },
    });
    expect(out.split('\n')).toEqual([
      '00:00:00   ObjectMissing: PersistentVolumeClaim corpse does not exist. Create corpse.',
      '00:00:00   PodsStarting: The containers of attempt 1 are starting.',
      '00:00:00   Running: Training on 4 GPUs.',
      'tiny-gpt: Complete. Done.',
    ]);
  });

  it('prints once that it waits for GPUs, however often the number of free ones changes', async () => {
    const counts = ['2 of 8 GPUs are free.', '1 of 8 GPUs are free.', '0 of 8 GPUs are free.'];
    const jobs = counts.map((sentence) => waiting('WaitingForCapacity', sentence, null));
    const [first = aJob()] = jobs;
    const stream = [...jobs, aJob(), aJob({ state: 'Complete', summary: 'Done.' })].map(sse).join('');
    const { out } = await runCommand('watch tiny-gpt', {
      [JOBS]: { json: { items: [first] } },
      [`${JOBS}/${first.id}`]: { json: first },
      [`${JOBS}/${first.id}/events/stream`]: { stream, end: 'never' },
    });
    expect(out.split('\n')).toEqual([
      '00:00:00   WaitingForCapacity: 2 of 8 GPUs are free.',
      '00:00:00   Running: Training on 4 GPUs.',
      'tiny-gpt: Complete. Done.',
    ]);
  });
});
