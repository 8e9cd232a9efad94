import { importBatchScript } from './sbatch.ts';
import { importJob } from './import-job.ts';
import { secondsOfSlurm } from './run-limits.ts';
import { aPyTorchJob } from './testing/documents.ts';

describe('--time of Slurm', () => {
  it.each<[string, number | undefined]>([
    ['90', 90 * 60],
    ['90:30', 90 * 60 + 30],
    ['12:00:00', 12 * 3_600],
    ['2-12', 60 * 3_600],
    ['1-00:30', 86_400 + 1_800],
    ['1-02:03:04', 93_784],
    ['UNLIMITED', undefined],
    ['', undefined],
  ])('"%s" is %j s', (text, want) => {
    expect(secondsOfSlurm(text)).toBe(want);
  });
});

describe('a batch script', () => {
  const script = (...lines: readonly string[]): ReturnType<typeof importBatchScript> =>
    importBatchScript(
      [
        '#!/bin/bash',
        '#SBATCH --nodes=2 ',
        '#SBATCH --gpus-per-node=8',
        ...lines,
        'srun --container-image=example.com/a:1 torchrun --nnodes=2 --nproc-per-node=8 train.py',
      ].join('\n'),
    );

  it('gets the limit of its time', () => {
    const { job, report } = script('#SBATCH --time=1-00:00:00');
    expect(job.spec.maxRuntimeSeconds).toBe(86_400);
    expect(report).toContainEqual(expect.objectContaining({ outcome: 'changed', to: 'maxRuntimeSeconds 86400' }));
  });

  it('has none if its time is not limited, or too short for a job', () => {
    for (const time of ['UNLIMITED', '00:00:30'])
      expect(script(`#SBATCH --time=${time}`).job.spec.maxRuntimeSeconds).toBeUndefined();
  });

  it.each(['qos=high', 'partition=h100'])('with --%s gets a line about spec.priorityClassName', (option) => {
    const line = script(`#SBATCH --${option}`).report.find(({ from }) => from.includes(option));
    expect(line?.todo).toContain('spec.priorityClassName');
  });
});

describe('a PyTorchJob', () => {
  it('gets the limit of its deadline and the class of its pods', () => {
    const spec = { runPolicy: { activeDeadlineSeconds: 7_200 } };
    const { job, report } = importJob([aPyTorchJob({ spec, pod: { priorityClassName: 'high' } })]);
    expect(job.spec).toMatchObject({ maxRuntimeSeconds: 7_200, priorityClassName: 'high' });
    expect(job.spec.runtimeRef).toBeUndefined();
    expect(report.find(({ to }) => to === 'priorityClassName high')?.todo).toContain('PROJECT --add high');
    expect(report.filter(({ to }) => /maxRuntimeSeconds|priorityClassName/.test(to ?? ''))).toHaveLength(2);
  });

  it('has neither if the deadline is below a minute and the class is no name', () => {
    const spec = { runPolicy: { activeDeadlineSeconds: 5 } };
    const { job } = importJob([aPyTorchJob({ spec, pod: { priorityClassName: '' } })]);
    expect([job.spec.maxRuntimeSeconds, job.spec.priorityClassName]).toEqual([undefined, undefined]);
  });

  it('with a label of Kueue gets a line about spec.priorityClassName', () => {
    const labels = { 'kueue.x-k8s.io/priority-class': 'high' };
    const { report } = importJob([{ ...aPyTorchJob(), metadata: { name: 'train', labels } }]);
    expect(report.find(({ from }) => from.includes('priority-class'))?.todo).toContain('spec.priorityClassName');
  });
});
