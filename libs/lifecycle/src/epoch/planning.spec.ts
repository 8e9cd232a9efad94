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
import { jobPlanning } from '@coxswain/job-planning';
import { worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { decide } from '../decide/decide.ts';
import type { Action, Decision } from '../decide/decision.ts';
import type { ObservedPlanning } from '../observation/observed.ts';
import { type Observed } from '../observation/observed.ts';
import { aCapacity, aNode, observe, plannedAnswer } from '../testing/index.ts';

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

/** What the planner has answered to what the job asks now; undefined where there is nothing to ask. */
function answered(observed: Observed): ObservedPlanning | undefined {
  const planning = jobPlanning(observed.job.spec, observed.capacity());
  if (planning?.kind !== 'question') return undefined;
  return { kind: 'answered', key: planning.question.key, answer: plannedAnswer(planning.question) };
}

/** The same look once the planner has answered. */
function withAnswer(observed: Observed): Observed {
  const planning = answered(observed);
  return planning === undefined ? observed : { ...observed, planning };
}

const planOf = (observed: Observed): JobPlan | undefined => decide(withAnswer(observed), NOW).status.plan;

/** The decision after one write of status: what the performer acts on. */
function recorded(observed: Observed): Decision {
  const { status, reserve } = decide(observed, NOW);
  const reserved = reserve === undefined ? {} : { reserved: reserve };
  return decide({ ...observed, ...reserved, job: { ...observed.job, status } }, NOW);
}

const kinds = ({ actions }: Decision): readonly string[] => actions.map(({ kind }) => kind);
const placementOf = ({ actions }: Decision): Extract<Action, { kind: 'createPlacement' }> | undefined =>
  actions.find((action) => action.kind === 'createPlacement');

const condition = ({ status }: Pick<Decision, 'status'>, type: 'Accepted' | 'Placed'): string => {
  const found = findCondition(status.conditions, type);
  return `${found?.status ?? ''} ${found?.reason ?? ''}: ${found?.message ?? ''}`;
};

/** The status of a job whose plan is recorded, and that waits for its finalizer. */
const plannedStatus = (): NonNullable<TrainingJob['status']> => {
  const job = { ...aTrainingJob(), spec: aPlannedJobSpec() };
  return decide(withAnswer(seen(job.spec, { job })), NOW).status;
};
const statusWith = (plan: JobPlan | undefined): NonNullable<TrainingJob['status']> => ({
  epoch: 0,
  restarts: { total: 0, charged: 0 },
  ...(plan === undefined ? {} : { plan }),
});

describe('a job that leaves its layout to the planner', () => {
  it('says that it is planned before the planner is asked, and asks once', () => {
    const first = decide(seen(aPlannedJobSpec()), NOW);
    expect(condition(first, 'Placed')).toBe('False Planning: The planner searches for a layout.');
    expect(first.status).toMatchObject({ state: 'Queued', summary: 'The planner searches for a layout.' });
    expect(condition(first, 'Accepted')).toMatch(/^True SpecValid: .*layout is not chosen yet/);
    const asking = recorded(seen(aPlannedJobSpec()));
    expect(asking.actions).toMatchObject([{ kind: 'planJob', question: { about: { gpus: 4 } } }]);
    const [action] = asking.actions;
    const key = action?.kind === 'planJob' ? action.question.key : '';
    expect(kinds(recorded(seen(aPlannedJobSpec(), { planning: { kind: 'asked', key } })))).toEqual([]);
  });

  it('takes no answer to a question that it does not ask any more', () => {
    const planning = { kind: 'answered', key: 'another', answer: undefined } as const;
    const decision = recorded(seen(aPlannedJobSpec(), { planning }));
    expect(decision.status.plan).toBeUndefined();
    expect(kinds(decision)).toEqual(['planJob']);
  });

  it('has its plan recorded with its attempt, before anything is made', () => {
    const { status } = decide(withAnswer(seen(aPlannedJobSpec())), NOW);
    expect(status.plan).toMatchObject({ chosenBy: 'Planner', gpus: 4, plannedAt: NOW.toISOString() });
    expect(worldSize(status.plan?.layout ?? aLayout())).toBe(4);
    expect(status.attempts).toMatchObject([{ epoch: 1, stage: 'Creating', layout: status.plan?.layout }]);
  });

  it('is placed on the planned layout and micro-batch once the plan is recorded, and the answer is forgotten', () => {
    const decision = recorded(withAnswer(seen(aPlannedJobSpec())));
    const { plan } = decision.status;
    expect(kinds(decision)).toEqual(['forgetPlanning', 'createPlacement']);
    expect(placementOf(decision)?.spec).toMatchObject({
      layout: plan?.layout,
      microBatchSize: plan?.microBatchSize,
      worldSize: 4,
    });
    expect(condition(decision, 'Accepted')).toMatch(/^True SpecValid: The planner chose .* per step and .* per GPU\.$/);
  });

  it('tells what was chosen in one event, however often it is looked at', () => {
    const first = decide(withAnswer(seen(aPlannedJobSpec())), NOW);
    const planned = first.events.filter(({ type }) => type === 'Planned');
    expect(planned).toMatchObject([
      { message: expect.stringMatching(/^The planner chose .* for 4 GPUs, predicted at /) as string },
    ]);
    const later = seen(aPlannedJobSpec(), { job: aJob(aPlannedJobSpec(), first.status) });
    expect(decide(later, new Date('2026-01-01T01:00:00Z')).status.plan).toEqual(first.status.plan);
  });

  it('carries the prediction of its plan in the attempt', () => {
    const job = aJob(aPlannedJobSpec(), plannedStatus());
    const placed = seen(job.spec, { job });
    const { plan, attempts } = decide(placed, NOW).status;
    expect(attempts?.[0]?.prediction).toMatchObject({
      stepMs: plan?.predictedStepMs,
      peakBytes: plan?.predictedPeakBytes,
      gpuType: plan?.gpuType,
    });
  });

  it('keeps its plan when the cluster grows, and asks nothing', () => {
    const status = plannedStatus();
    const grown = seen(aPlannedJobSpec(), {
      job: aJob(aPlannedJobSpec(), status),
      capacity: () => aCapacity([...cluster, aNode({ name: 'node-c', labels, gpuCapacity: 8 })]),
    });
    expect(planOf(grown)).toEqual(status.plan);
    expect(kinds(recorded(grown))).toEqual(['createPlacement']);
  });

  it.each([
    ['another number of GPUs', aPlannedJobSpec({ gpus: 2 }), 'Planner', 2],
    ['a layout of its own', aJobSpec({ layout: aLayout({ dataParallelDegree: 2 }) }), 'User', 2],
  ] as const)('is planned anew when it was suspended and goes on with %s', (_sentence, spec, chosenBy, gpus) => {
    const job = aJob(spec, statusWith(plannedStatus().plan));
    expect(kinds(recorded(seen(spec, { job })))).toEqual(['planJob']);
    expect(planOf(seen(spec, { job }))).toMatchObject({ chosenBy, gpus });
  });

  it('is not planned anew while its gang is up, whatever was asked meanwhile', () => {
    const { plan } = plannedStatus();
    const attempts = [anAttempt({ stage: 'Stopping', outcome: 'Suspended', layout: plan?.layout ?? aLayout() })];
    const spec = aPlannedJobSpec({ gpus: 2, suspend: true });
    expect(planOf(seen(spec, { job: aJob(spec, { ...statusWith(plan), epoch: 1, attempts }) }))).toEqual(plan);
  });

  it('waits with a sentence while the cluster has no GPU, and is planned when it has', () => {
    const empty = seen(aPlannedJobSpec(), { capacity: () => aCapacity([]) });
    const waiting = recorded(empty);
    expect(waiting.status.plan).toBeUndefined();
    expect(condition(waiting, 'Placed')).toBe(
      'False WaitingForPlan: The layout is chosen when the cluster has a node with GPUs.',
    );
    expect(waiting).toMatchObject({ actions: [], requeueAfterMs: 30_000 });
    expect(planOf(seen(aPlannedJobSpec(), { job: aJob(aPlannedJobSpec(), waiting.status) }))?.layout).toBeDefined();
  });
});

describe('a job that the planner refuses', () => {
  it.each([
    ['no layout divides the model', aPlannedJobSpec({ gpus: 7 }), cluster, /^No layout on 7 h100-sxm5-80gb/],
    ['nobody says which GPUs the nodes have', aPlannedJobSpec(), [aNode()], /label them with/],
  ] as const)('says so in a sentence when %s, and nothing is placed', (_sentence, spec, nodes, want) => {
    const decision = recorded(withAnswer(seen(spec, { capacity: () => aCapacity(nodes) })));
    expect(condition(decision, 'Accepted')).toMatch(/^False NoLayoutFits: /);
    expect(condition(decision, 'Placed')).toBe('False NotAccepted: Nothing is placed before the spec is accepted.');
    expect(decision.status.summary).toMatch(want);
    expect(placementOf(decision)).toBeUndefined();
    expect(effectiveLayout(spec, decision.status.plan)).toBeUndefined();
    expect(decision.requeueAfterMs).toBe(30_000);
  });

  it('is asked for again when the nodes are others, and only then; the refusal stands until the answer', () => {
    const spec = aPlannedJobSpec();
    const refused = decide(seen(spec, { capacity: () => aCapacity([aNode()]) }), NOW).status;
    const same = seen(spec, { job: aJob(spec, refused), capacity: () => aCapacity([aNode()]) });
    expect(planOf(same)).toEqual(refused.plan);
    expect(kinds(recorded(same))).toEqual([]);
    const labelled = seen(spec, { job: aJob(spec, refused) });
    const asking = recorded(labelled);
    expect(kinds(asking)).toEqual(['planJob']);
    expect(asking.status.plan).toEqual(refused.plan);
    expect(planOf(labelled)?.layout).toBeDefined();
  });
});

describe('a planner that cannot answer', () => {
  const failed = (spec: TrainingJobSpec, retryAt: string): Observed => {
    const observed = seen(spec);
    const key = answered(observed)?.key ?? '';
    const problem = 'the search took longer than 30 s';
    return { ...observed, planning: { kind: 'failed', key, problem, retryAtMs: Date.parse(retryAt) } };
  };

  it('is asked again after a while by a job without a layout, which says so', () => {
    const waiting = recorded(failed(aPlannedJobSpec(), '2026-01-01T00:20:08Z'));
    expect(waiting).toMatchObject({ actions: [], requeueAfterMs: 8_000 });
    expect(condition(waiting, 'Placed')).toBe(
      'False Planning: The planner could not choose a layout and is asked again: the search took longer than 30 s',
    );
    expect(kinds(recorded(failed(aPlannedJobSpec(), NOW.toISOString())))).toEqual(['planJob']);
    // A clock that was set back says that it is hours until then.
    expect(kinds(recorded(failed(aPlannedJobSpec(), '2026-01-01T01:20:00Z')))).toEqual(['planJob']);
  });

  it.each([
    ['while it may not be asked again', '2026-01-01T00:30:00Z'],
    ['when it might be asked again', NOW.toISOString()],
  ])('does not hold up a job with a layout of its own: %s', (_sentence, retryAt) => {
    const decision = recorded(failed(aJobSpec(), retryAt));
    expect(kinds(decision)).toEqual(['forgetPlanning', 'createPlacement']);
    expect(decision.status.plan).toBeUndefined();
  });
});

describe('a question that nobody wants answered any more', () => {
  it.each([
    ['the job is suspended', aPlannedJobSpec({ suspend: true }), {}],
    ['the job is cancelled', aPlannedJobSpec({ cancel: true }), {}],
    ['the job is being deleted', aPlannedJobSpec(), { deletionTimestamp: NOW.toISOString() }],
    ['the cluster has no GPUs any more', aPlannedJobSpec(), {}, []],
  ] as const)('is given up where %s', (_sentence, spec, metadata, nodes: readonly never[] | undefined = undefined) => {
    const job = aJob(spec);
    const observed = seen(spec, {
      job: { ...job, metadata: { ...job.metadata, ...metadata } },
      planning: { kind: 'asked', key: 'whatever' },
      ...(nodes === undefined ? {} : { capacity: () => aCapacity(nodes) }),
    });
    expect(kinds(recorded(observed))).toContain('forgetPlanning');
    expect(kinds(recorded(observed))).not.toContain('planJob');
  });

  it('makes way for the question of a changed job', () => {
    const spec = aPlannedJobSpec({ gpus: 2 });
    const earlier = answered(seen(aPlannedJobSpec()))?.key ?? '';
    expect(kinds(recorded(seen(spec, { planning: { kind: 'asked', key: earlier } })))).toEqual(['planJob']);
  });
});

describe('a job with a layout of its own', () => {
  it('waits for its prediction, which is recorded before the gang is placed', () => {
    const asking = recorded(seen(aJobSpec()));
    expect(kinds(asking)).toEqual(['planJob']);
    expect(condition(asking, 'Placed')).toBe('False Planning: The planner predicts what the layout will need.');
    const decision = recorded(withAnswer(seen(aJobSpec())));
    expect(decision.status.plan).toMatchObject({ chosenBy: 'User', gpus: 4, layout: aJobSpec().layout });
    expect(placementOf(decision)).toBeDefined();
  });

  it('is placed without a prediction where the planner has nothing to say, and asks no more', () => {
    const observed = seen(aJobSpec());
    const planning = { kind: 'answered', key: answered(observed)?.key ?? '', answer: undefined } as const;
    const decision = recorded({ ...observed, planning });
    expect(decision.status.plan).toBeUndefined();
    expect(kinds(decision)).toEqual(['forgetPlanning', 'createPlacement']);
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
    const decision = recorded(seen(spec, { capacity: () => aCapacity(nodes) }));
    expect(decision.status.plan).toBeUndefined();
    expect(kinds(decision)).not.toContain('planJob');
  });
});
