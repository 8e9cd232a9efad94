import { aJobSpec } from '@coxswain/api-types/testing';
import type { Fabric } from '@coxswain/fabric';
import type { JobPlanQuestion } from '@coxswain/job-planning';
import { CheckPlan } from './check-plan.ts';

const project = { id: 'p', name: 'lab' };
const node = {
  ...{ name: 'a', gpus: 8, gpuType: 'NVIDIA-H100-80GB-HBM3', island: '', domain: 'a' },
  ...{ leaf: '', spine: '', rack: '' },
};
const fabric = { nodes: [node] } as unknown as Fabric;
const answer = { chosenBy: 'User', verdict: 'fits', gpus: 4, fabric: 'x', plannerVersion: '1' } as const;

describe('the plan of a job that is checked', () => {
  const askedWith = async (
    observed: object,
    planJob: (of: typeof project, question: JobPlanQuestion) => Promise<never> | Promise<typeof answer | undefined>,
    spec = aJobSpec(),
  ): Promise<unknown> =>
    new CheckPlan({ planJob } as never, { observe: () => Promise.resolve(observed) } as never).ask(project, spec);

  it('is asked with the layout of the job and the GPUs of the cluster', async () => {
    const questions: JobPlanQuestion[] = [];
    const found = await askedWith({ fabric }, (_project, question) => {
      questions.push(question);
      return Promise.resolve(answer);
    });
    expect([found, questions[0]?.about.gpus]).toEqual([answer, 4]);
  });

  it.each<[string, object, () => Promise<never> | Promise<undefined>, null | undefined]>([
    ['is not known while the nodes are not read', { problem: 'late' }, () => Promise.resolve(undefined), undefined],
    ['is not known if the planner takes too long', { fabric }, () => Promise.reject(new Error('late')), undefined],
    ['does not exist if the planner has no answer', { fabric }, () => Promise.resolve(undefined), null],
    ['does not exist before the cluster has a node', { fabric: { nodes: [] } }, () => Promise.resolve(undefined), null],
  ])('%s', async (_sentence, observed, planJob, want) => {
    expect(await askedWith(observed, planJob)).toBe(want);
  });
});
