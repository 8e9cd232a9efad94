import { plan, PlanRequest, whyNot } from '@coxswain/planner';
import { aPlannedJobSpec, aJobSpec } from '@coxswain/api-types/testing';
import { aFabricNode } from '@coxswain/fabric/testing';
import { aLayout } from '@coxswain/layout/testing';
import { jobPlanning, type JobPlanQuestion, planJob, searchNodes } from '@coxswain/job-planning';
import { PlannerProcess } from './planner-process.ts';

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

const planner = new PlannerProcess({ limits: { timeoutMs: Infinity } });
const tenant = 'research';
afterAll(() => planner.close());

function questionOf(spec: Parameters<typeof jobPlanning>[0]): JobPlanQuestion {
  const planning = jobPlanning(spec, { fabric: { nodes: [aFabricNode({ gpuType: 'h100' })] } });
  if (planning?.kind !== 'question') throw new Error('there is nothing to ask');
  return planning.question;
}

describe('the planner in its process', () => {
  it('answers as it does without one', async () => {
    expect(await planner.ask({ kind: 'plan', request }, { tenant })).toEqual(plan(request));
    expect(await planner.ask({ kind: 'whyNot', request, asked }, { tenant })).toEqual(whyNot(request, asked));
  });

  it.each([
    ['nodes for a gang', 2],
    ['why there are none', 4],
  ])('answers %s as it does without one', async (_what, dataParallelDegree) => {
    const layout = aLayout({ tensorParallelDegree: 8, dataParallelDegree });
    const fabric = { nodes: ['a', 'b', 'c'].map((name) => aFabricNode({ name })) };
    const capacity = { fabric, usedGpus: new Map([['a', 8]]), reserve: { nodesPerIsland: 0 } };
    const search = { spec: { ...aPlannedJobSpec(), layout }, request: { layout }, avoided: [] };
    const answer = await planner.ask({ kind: 'findNodes', search, capacity }, { tenant });
    expect(answer).toEqual(searchNodes(search, capacity));
    expect(answer.kind).toBe(dataParallelDegree === 2 ? 'placed' : 'waiting');
  });

  it.each([
    ['a layout for a job, the whole search', aPlannedJobSpec(), false],
    ['a layout for a job, the bounded search', aPlannedJobSpec(), true],
    ['no layout, where none divides the model', aPlannedJobSpec({ gpus: 7 }), false],
    ['a prediction of the layout of a job', aJobSpec(), false],
  ])('answers as it does without one: %s', async (_sentence, spec, isBounded) => {
    const question = questionOf(spec);
    const options = { isBounded };
    const answer = await planner.ask({ kind: 'planJob', question, options }, { tenant });
    expect(answer).toEqual(planJob(question, options));
    expect(answer).toBeDefined();
  });

  it('refuses in the same words', async () => {
    const unknown = { ...request, model: 'gpt-17' };
    const refusal = await planner.ask({ kind: 'plan', request: unknown }, { tenant }).catch((e: unknown) => e);
    expect(refusal).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(() => plan(unknown)).toThrow((refusal as Error).message);
  });
});
