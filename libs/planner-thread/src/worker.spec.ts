import { plan, PlanRequest, predict, whyNot } from '@coxswain/planner';
import { PlannerThread } from './planner-thread.ts';

/** So few choices that it is planned at once. */
const request = PlanRequest.parse({
  model: 'llama-3.1-8b',
  cluster: { gpu: 'h100', gpus: 8 },
  globalBatchSize: 64,
  sequenceLength: 2048,
  top: 2,
  pinned: { chunks: 1, context: 1, zeroStage: 1, recompute: 'none', partition: 'even', rankOrder: 'tp-cp-dp-pp' },
  allow: { schedules: ['1f1b'], offload: false },
});
const asked = {
  layout: { tensorParallelDegree: 8, pipelineParallelDegree: 1, dataParallelDegree: 1 },
  microBatchSize: 1,
};

const planner = new PlannerThread({ limits: { timeoutMs: Infinity } });
const tenant = 'research';
afterAll(() => planner.close());

describe('the planner in the thread', () => {
  it('answers as it does without one', async () => {
    expect(await planner.ask({ kind: 'plan', request }, { tenant })).toEqual(plan(request));
    expect(await planner.ask({ kind: 'predict', request, asked }, { tenant })).toEqual(predict(request, asked));
    expect(await planner.ask({ kind: 'whyNot', request, asked }, { tenant })).toEqual(whyNot(request, asked));
  });

  it('refuses in the same words', async () => {
    const illegal = { ...asked, layout: { ...asked.layout, tensorParallelDegree: 3 } };
    const refusal = await planner
      .ask({ kind: 'predict', request, asked: illegal }, { tenant })
      .catch((e: unknown) => e);
    expect(refusal).toMatchObject({ code: 'INVALID_LAYOUT' });
    expect(() => predict(request, illegal)).toThrow((refusal as Error).message);
  });
});
