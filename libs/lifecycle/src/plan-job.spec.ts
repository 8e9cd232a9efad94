import {
  effectiveLayout,
  FINALIZER,
  findCondition,
  type JobPlan,
  NODE_LABELS,
  type TrainingJob,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { aJobSpec, anAttempt, aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import { type Action, decide, type Decision, type Observed } from './index.ts';
import { aCapacity, aNode, aPlacement, observe } from './testing/index.ts';

const NOW = new Date('2026-01-01T00:20:00Z');
const labels = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };
const cluster = [aNode({ labels }), aNode({ name: 'node-b', labels })];

function aJob(spec: TrainingJobSpec, status?: TrainingJob['status']): TrainingJob {
  const job = aTrainingJob({ metadata: { finalizers: [FINALIZER] } });
  return { ...job, spec, ...(status === undefined ? {} : { status }) };
}

function seen(spec: TrainingJobSpec, overrides: Partial<Observed> = {}): Observed {
  return observe({ job: aJob(spec), capacity: () => aCapacity(cluster), ...overrides });
}

const planOf = (observed: Observed): JobPlan | undefined => decide(observed, NOW).status.plan;

/** The decision after one write of status: what the performer acts on. */
function recorded(observed: Observed): Decision {
  const { status } = decide(observed, NOW);
  return decide({ ...observed, job: { ...observed.job, status } }, NOW);
}

const placementOf = ({ actions }: Decision): Extract<Action, { kind: 'createPlacement' }> | undefined =>
  actions.find((action) => action.kind === 'createPlacement');

const condition = ({ status }: Decision, type: 'Accepted' | 'Placed'): string => {
  const found = findCondition(status.conditions, type);
  return `${found?.status ?? ''} ${found?.reason ?? ''}: ${found?.message ?? ''}`;
};

describe('a job that leaves its layout to the planner', () => {
  it('has a layout on as many GPUs as it asks for, with its prediction, before anything is made', () => {
    const { status } = decide(seen(aPlannedJobSpec()), NOW);
    expect(status.plan).toMatchObject({ chosenBy: 'Planner', gpus: 4, gpuType: 'h100-sxm5-80gb', verdict: 'fits' });
    expect(worldSize(status.plan?.layout ?? aLayout())).toBe(4);
    expect(status.plan?.predictedStepMs).toBeGreaterThan(0);
    expect(status.plan?.predictedPeakBytes).toBeGreaterThan(0);
    const shown = (status.plan?.runnersUp ?? []).map(({ layout, microBatchSize }) => `${layout}/${microBatchSize}`);
    expect(shown.length).toBeGreaterThan(0);
    expect(new Set(shown).size).toBe(shown.length);
    expect(status.attempts).toBeUndefined();
  });

  it('is placed on the planned layout and micro-batch once the plan is recorded', () => {
    const decision = recorded(seen(aPlannedJobSpec()));
    const { plan } = decision.status;
    expect(placementOf(decision)?.spec).toMatchObject({
      layout: plan?.layout,
      microBatchSize: plan?.microBatchSize,
      worldSize: 4,
    });
    expect(condition(decision, 'Accepted')).toMatch(/^True SpecValid: The planner chose .* per step and .* per GPU\.$/);
  });

  it('tells what was chosen in one event, however often it is looked at', () => {
    const first = decide(seen(aPlannedJobSpec()), NOW);
    const told = first.events.filter(({ type }) => type === 'Planned');
    expect(told).toMatchObject([
      { message: expect.stringMatching(/^The planner chose .* for 4 GPUs, predicted at /) as string },
    ]);
    const later = seen(aPlannedJobSpec(), { job: aJob(aPlannedJobSpec(), first.status) });
    expect(decide(later, new Date('2026-01-01T01:00:00Z')).status.plan).toEqual(first.status.plan);
  });

  it('carries the prediction of its plan in the attempt', () => {
    const job = aJob(aPlannedJobSpec(), decide(seen(aPlannedJobSpec()), NOW).status);
    const placed = seen(job.spec, { job, placements: [aPlacement(job)] });
    const { plan, attempts } = decide(placed, NOW).status;
    expect(attempts?.[0]?.prediction).toMatchObject({
      stepMs: plan?.predictedStepMs,
      peakBytes: plan?.predictedPeakBytes,
      gpuType: plan?.gpuType,
    });
  });

  it('keeps its plan when the cluster grows', () => {
    const first = decide(seen(aPlannedJobSpec()), NOW).status;
    const grown = seen(aPlannedJobSpec(), {
      job: aJob(aPlannedJobSpec(), first),
      capacity: () => aCapacity([...cluster, aNode({ name: 'node-c', labels, gpuCapacity: 8 })]),
    });
    expect(planOf(grown)).toEqual(first.plan);
  });

  it.each([
    ['another number of GPUs', aPlannedJobSpec({ gpus: 2, suspend: true }), 'Planner', 2],
    ['a layout of its own', aJobSpec({ suspend: true, layout: aLayout({ dataParallelDegree: 2 }) }), 'User', 2],
  ] as const)('is planned anew when, suspended, it is given %s', (_sentence, spec, chosenBy, gpus) => {
    const { plan } = decide(seen(aPlannedJobSpec()), NOW).status;
    const status = { epoch: 0, restarts: { total: 0, charged: 0 }, ...(plan === undefined ? {} : { plan }) };
    expect(planOf(seen(spec, { job: aJob(spec, status) }))).toMatchObject({ chosenBy, gpus });
  });

  it('is not planned anew while its gang is up, whatever was asked meanwhile', () => {
    const { plan } = decide(seen(aPlannedJobSpec()), NOW).status;
    const attempts = [anAttempt({ stage: 'Stopping', outcome: 'Suspended', layout: plan?.layout ?? aLayout() })];
    const status = { epoch: 1, restarts: { total: 0, charged: 0 }, ...(plan === undefined ? {} : { plan }), attempts };
    const spec = aPlannedJobSpec({ gpus: 2, suspend: true });
    expect(planOf(seen(spec, { job: aJob(spec, status) }))).toEqual(plan);
  });

  it('waits with a sentence while the cluster has no GPU, and is planned when it has', () => {
    const empty = seen(aPlannedJobSpec(), { capacity: () => aCapacity([]) });
    const waiting = recorded(empty);
    expect(waiting.status.plan).toBeUndefined();
    expect(condition(waiting, 'Placed')).toBe(
      'False WaitingForPlan: The layout is chosen when the cluster has a node with GPUs.',
    );
    expect(waiting.requeueAfterMs).toBe(30_000);
    expect(planOf(seen(aPlannedJobSpec(), { job: aJob(aPlannedJobSpec(), waiting.status) }))?.layout).toBeDefined();
  });

  it.each([
    ['no layout divides the model', aPlannedJobSpec({ gpus: 7 }), cluster, /^No layout on 7 h100-sxm5-80gb/],
    [
      'the GPUs are too small for the model',
      aPlannedJobSpec({ model: { layers: 128, hiddenSize: 65_536, attentionHeads: 128, sequenceLength: 4096 } }),
      cluster,
      /GiB more per GPU than there is/,
    ],
    ['nobody says which GPUs the nodes have', aPlannedJobSpec(), [aNode()], /label them with/],
    [
      'the planner does not know the GPUs',
      aPlannedJobSpec(),
      [aNode({ labels: { [NODE_LABELS.gpuType]: 'abacus' } })],
      /does not know the GPU type "abacus"/,
    ],
  ] as const)('is refused in a sentence when %s, and nothing is placed', (_sentence, spec, nodes, want) => {
    const decision = recorded(seen(spec, { capacity: () => aCapacity(nodes) }));
    expect(condition(decision, 'Accepted')).toMatch(/^False NoLayoutFits: /);
    expect(decision.status.summary).toMatch(want);
    expect(placementOf(decision)).toBeUndefined();
    expect(effectiveLayout(spec, decision.status.plan)).toBeUndefined();
  });

  it('that was refused is planned when the nodes are others, and only then', () => {
    const spec = aPlannedJobSpec();
    const refused = decide(seen(spec, { capacity: () => aCapacity([aNode()]) }), NOW).status;
    const again = seen(spec, { job: aJob(spec, refused), capacity: () => aCapacity([aNode()]) });
    expect(planOf(again)).toEqual(refused.plan);
    expect(planOf(seen(spec, { job: aJob(spec, refused) }))?.layout).toBeDefined();
  });

  it('gets stages of equal size from an engine that knows no others, however much better others are', () => {
    const model = { layers: 126, hiddenSize: 4096, attentionHeads: 32, sequenceLength: 4096 };
    const spec = aPlannedJobSpec({ gpus: 2048, model, training: { steps: 1, globalBatchSize: 2048 } });
    const nodes = Array.from({ length: 256 }, (_, index) => aNode({ name: `node-${index}`, labels, gpuCapacity: 8 }));
    const layout = planOf(seen(spec, { capacity: () => aCapacity(nodes) }))?.layout;
    expect(126 % (layout?.pipelineParallelDegree ?? 0)).toBe(0);
  });

  it('is searched with one sample per pass where there are very many ways to divide it', () => {
    const model = { layers: 60, hiddenSize: 120, attentionHeads: 120, sequenceLength: 128 };
    const spec = aPlannedJobSpec({ gpus: 240, model, training: { steps: 1, globalBatchSize: 15_120 } });
    expect(planOf(seen(spec))).toMatchObject({ gpus: 240, microBatchSize: 1 });
  });

  it('keeps the micro-batch that the user gave', () => {
    const spec = aPlannedJobSpec({ training: { steps: 10, globalBatchSize: 8, microBatchSize: 2 } });
    expect(planOf(seen(spec))?.microBatchSize).toBe(2);
  });
});

describe('whatever a job asks for', () => {
  const size = fc.constantFrom(1, 2, 3, 4, 6, 7, 8, 16, 48, 64, 1000);
  const model = fc
    .record({ layers: size, heads: size, headDim: fc.constantFrom(1, 2, 64, 128), sequenceLength: size })
    .map(({ layers, heads, headDim, sequenceLength }) => ({
      layers,
      attentionHeads: heads,
      hiddenSize: heads * headDim,
      sequenceLength,
    }));
  const training = fc.record({
    steps: size,
    globalBatchSize: size,
    precision: fc.constantFrom('fp32' as const, 'bf16' as const),
  });

  it('a look at it ends with a decision, and a planned layout is one that its engine and its model allow', () => {
    fc.assert(
      fc.property(model, training, fc.integer({ min: 1, max: 32 }), (shape, batch, gpus) => {
        const decision = recorded(seen(aPlannedJobSpec({ model: shape, training: batch, gpus })));
        const { plan } = decision.status;
        expect((plan?.layout === undefined) !== (plan?.refusal === undefined)).toBe(true);
        if (plan?.layout === undefined) return;
        expect(worldSize(plan.layout)).toBe(gpus);
        expect(condition(decision, 'Accepted')).toMatch(/^True /);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a job with a layout of its own', () => {
  it('is predicted', () => {
    expect(planOf(seen(aJobSpec()))).toMatchObject({
      chosenBy: 'User',
      gpus: 4,
      layout: aJobSpec().layout,
      microBatchSize: 1,
      gpuType: 'h100-sxm5-80gb',
    });
  });

  it.each([
    ['the nodes do not say which GPUs they have', aJobSpec(), [aNode()]],
    ['its layout does not divide the model', aJobSpec({ layout: aLayout({ tensorParallelDegree: 3 }) }), cluster],
    [
      'it says nothing of its model',
      aJobSpec({ engine: { name: 'command', image: 'any', command: ['x'] }, model: undefined, training: undefined }),
      cluster,
    ],
  ] as const)('is not predicted when %s', (_sentence, spec, nodes) => {
    expect(planOf(seen(spec, { capacity: () => aCapacity(nodes) }))).toBeUndefined();
  });
});
