import type { TrainingJobSpec } from '@coxswain/api-types';
import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';
import type { FabricNode } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import { aLayout } from '@coxswain/layout/testing';
import { PLANNER_VERSION } from '@coxswain/planner';
import { isRefusalOf, jobPlanning, type JobPlanQuestion } from './job-plan-question.ts';

const h100 = [aFabricNode({ gpuType: 'h100' })];
const program = {
  engine: { name: 'command' as const, image: 'any', command: ['x'] },
  model: undefined,
  training: undefined,
};

function questionOf(spec: TrainingJobSpec, nodes: readonly FabricNode[] = h100): JobPlanQuestion | undefined {
  const planning = jobPlanning(spec, { fabric: { nodes } });
  return planning?.kind === 'question' ? planning.question : undefined;
}

describe('what the planner is asked of a job', () => {
  it.each([
    ['a layout for as many GPUs as the job asks for', aPlannedJobSpec({ gpus: 8 }), 8],
    ['a prediction of the layout that the user wrote', aJobSpec(), 4],
  ])('%s', (_sentence, spec, gpus) => {
    expect(questionOf(spec)).toMatchObject({
      cluster: { gpus },
      about: { gpus, plannerVersion: PLANNER_VERSION, fabric: expect.stringMatching(/8 h100/) as string },
    });
  });

  it.each([
    ['the cluster has no GPU', aPlannedJobSpec(), []],
    ['the engine would refuse the job anyway', { ...aPlannedJobSpec(), data: undefined }, h100],
    ['the layout does not divide the model', aJobSpec({ layout: aLayout({ tensorParallelDegree: 3 }) }), h100],
    ['a program of the user’s own says nothing of its model', aJobSpec(program), h100],
    ['the nodes do not say which GPUs they have, and the user gave a layout', aJobSpec(), [aFabricNode()]],
  ] as const)('nothing, where %s', (_sentence, spec, nodes) => {
    expect(jobPlanning(spec, { fabric: { nodes } })).toBeUndefined();
  });

  it.each([
    ['nobody says which GPUs the nodes have', [aFabricNode()], /label them with/],
    ['it does not know these GPUs', [aFabricNode({ gpuType: 'abacus' })], /does not know the GPU type "abacus"/],
  ] as const)('nothing, where %s: that is the answer to a job without a layout', (_sentence, nodes, want) => {
    expect(jobPlanning(aPlannedJobSpec(), { fabric: { nodes } })).toMatchObject({
      kind: 'answer',
      answer: { chosenBy: 'Planner', gpus: 4, refusal: expect.stringMatching(want) as string },
    });
  });
});

describe('what was measured of the GPUs', () => {
  const factor = (constant: string) => ({ constant, factor: 1.2 });
  const planningOf = (constants: readonly string[], gpu = 'h100-sxm5-80gb') => {
    const measured = { [gpu]: { name: 'hall 2', factors: constants.map(factor) } };
    return jobPlanning(aPlannedJobSpec(), { fabric: { nodes: h100 } }, measured);
  };
  const usual = questionOf(aPlannedJobSpec());

  it('is what the planner is asked with, and what the answer says of itself', () => {
    const planning = planningOf(['gemmSlowdown']);
    expect(planning).toMatchObject({
      about: { fabric: `${usual?.about.fabric}; as measured on hall 2` },
      question: { cluster: { profile: { name: 'hall 2', factors: [factor('gemmSlowdown')] } } },
    });
    expect(planning?.kind === 'question' && planning.question.key).not.toBe(usual?.key);
  });

  it('is left out as far as this release has no such constant, and that is said', () => {
    expect(planningOf(['gemmSlowdown', 'gone'])).toMatchObject({
      about: { fabric: expect.stringMatching(/hall 2 without gone, which this release does not have$/) as string },
      question: { cluster: { profile: { factors: [factor('gemmSlowdown')] } } },
    });
  });

  it.each([
    ['of another type of GPU', planningOf(['gemmSlowdown'], 'a100-sxm4-80gb')],
    ['of nothing that this release has', planningOf(['gone'])],
    ['of a type called like what every object has', planningOf(['gemmSlowdown'], 'constructor')],
  ])('changes nothing, %s', (_sentence, planning) => {
    expect(planning).toEqual({ about: usual?.about, kind: 'question', question: usual });
  });
});

describe('the key of a question', () => {
  const key = (spec: TrainingJobSpec, nodes?: readonly FabricNode[]): string | undefined =>
    questionOf(spec, nodes)?.key;
  const job = aPlannedJobSpec();

  it.each([
    ['suspended or not', { ...job, suspend: true }],
    ['another budget of restarts', aPlannedJobSpec({ restartPolicy: { maxRestarts: 9 } })],
    ['another environment', { ...job, engine: { ...job.engine, env: [{ name: 'A', value: 'b' }] } }],
  ])('is the same for the same job with %s', (_sentence, spec) => {
    expect(key(spec)).toBe(key(job));
  });

  it.each([
    ['another number of GPUs', aPlannedJobSpec({ gpus: 8 }), h100],
    [
      'another model',
      aPlannedJobSpec({ model: { layers: 8, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 } }),
      h100,
    ],
    ['another batch', aPlannedJobSpec({ training: { steps: 100, globalBatchSize: 16 } }), h100],
    ['fewer GPUs per node', aPlannedJobSpec({ resources: { gpusPerNode: 2 } }), h100],
    ['a layout of the user’s own', aJobSpec(), h100],
    ['other GPUs', job, [aFabricNode({ gpuType: 'a100' })]],
    ['more nodes', job, [...h100, aFabricNode({ name: 'node-1', gpuType: 'h100' })]],
  ] as const)('is another one with %s', (_sentence, spec, nodes) => {
    expect(key(spec, nodes)).toBeDefined();
    expect(key(spec, nodes)).not.toBe(key(job));
  });
});

describe('a refusal', () => {
  const about = { gpus: 4, fabric: '8 GPUs', plannerVersion: '1' };
  const refused = { chosenBy: 'Planner' as const, ...about, refusal: 'No layout.', plannedAt: '2026-01-01T00:00:00Z' };

  it.each([
    ['stands while all is as it was', {}, true],
    ['falls with another cluster', { fabric: '16 GPUs' }, false],
    ['falls with another planner', { plannerVersion: '2' }, false],
    ['falls with another number of GPUs', { gpus: 8 }, false],
  ])('%s', (_sentence, change, want) => {
    expect(isRefusalOf(refused, { ...about, ...change })).toBe(want);
  });
});
