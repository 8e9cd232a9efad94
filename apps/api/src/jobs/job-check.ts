/** What would a job wait for if it were submitted now? Pure: the answers of database and cluster are given. */
import {
  type Condition,
  type ConditionType,
  describeUnusable,
  effectiveLayout,
  gpuCount,
  type GpuCounts,
  type JobCheck,
  type JobCreate,
  type JobObstacle,
  MAX_RANKS_PER_POD,
  SCRATCH,
  type StartVerdict,
  type UnusableReference,
  whyNotTraining,
} from '@coxswain/api-types';
import type { DomainError } from '@coxswain/domain-error';
import type { JobPlanAnswer } from '@coxswain/job-planning';
import { formatLayout } from '@coxswain/layout';
import { type PodDemand, type QuotaObject, quotaObstacles, quotaSentence } from '@coxswain/scheduling';
import { GIB_BYTES } from '@coxswain/units';

/** What was asked about the job, in the order in which a job meets it; undefined: it could not be asked. */
export interface CheckFacts {
  readonly body: JobCreate;
  readonly namespace: string;
  /** Why the API refuses the spec; null: it does not. */
  readonly refusal: DomainError | null;
  readonly isNameTaken: boolean;
  /** Whether the namespace has an adopted checkpoint of the name that the job is to begin from. */
  readonly isStartAdopted: boolean;
  /** The cluster's sentence on a dry run of the job; null: it accepts it. */
  readonly denial: string | null | undefined;
  /** Objects that the job names and that pods cannot use. */
  readonly unusable: readonly UnusableReference[] | undefined;
  readonly gpus: GpuCounts | undefined;
  /** Why the job cannot use its runtime; null: it can, or it names none. */
  readonly runtimeProblem: string | null | undefined;
  /** Of the namespace. */
  readonly quotas: readonly QuotaObject[] | undefined;
  /** Null: the planner knows too little of job or GPUs to say anything. */
  readonly plan: JobPlanAnswer | null | undefined;
}

/** What only the operator can ask, once the job is there. */
const AFTER_SUBMIT = [
  { what: 'pods', why: 'policies and webhooks on pods, images and Secrets show once pods are tried' },
] as const;

const PLANNER_KNOWS_LITTLE = 'the planner knows too little of the model or the GPUs to predict memory';
const PLANNER_LATER = 'the planner is asked after the submit; `coxswain plan` asks it now';

/** The answer. Each sentence is the one that the job itself would have. */
export function checkOf(facts: CheckFacts): JobCheck {
  const { spec } = facts.body;
  const wanted = gpuCount(effectiveLayout(spec, undefined) ?? null, spec.gpus);
  const found = obstaclesOf(facts, wanted);
  const inOrder = EFFECTS.flatMap((effect) => found.filter((one) => one.effect === effect)).map(
    ({ condition, ...obstacle }) => ({ obstacle, verdict: verdictOf(facts, condition) }),
  );
  return {
    verdict: inOrder.find(({ obstacle }) => obstacle.effect !== 'MayFail')?.verdict ?? null,
    obstacles: inOrder.map(({ obstacle, verdict: { reason, sentence, change } }) => ({
      ...{ reason, ...obstacle, rule: obstacle.rule ?? sentence },
      change,
    })),
    ...askedOf(facts),
    gpusWanted: wanted,
    gpus: facts.gpus ?? null,
    plan: facts.plan ?? null,
  };
}

/** Something in the way, and the condition that the job would get. `rule`: of the field alone, where the condition says more. */
interface Obstacle extends Pick<JobObstacle, 'field' | 'value' | 'effect'> {
  readonly condition: Condition;
  readonly rule?: string;
}

/** What needs a change comes first. */
const EFFECTS: readonly JobObstacle['effect'][] = ['NeedsChange', 'Waits', 'MayFail'];

function verdictOf({ body, namespace }: CheckFacts, condition: Condition): StartVerdict {
  const found = whyNotTraining({
    ...{ name: body.name, namespace, state: 'Queued', summary: '', applyFailure: null },
    conditions: [condition],
  });
  const { reason, type, message } = condition;
  return found ?? { reason, condition: type, sentence: message, change: null, object: null };
}

function askedOf({ refusal, isNameTaken, ...facts }: CheckFacts): Pick<JobCheck, 'checked' | 'notChecked'> {
  const asked = {
    spec: true,
    name: true,
    runtime: facts.runtimeProblem !== undefined,
    cluster: facts.denial !== undefined,
    objects: facts.unusable !== undefined,
    quotas: facts.quotas !== undefined,
    gpus: facts.gpus !== undefined,
    plan: facts.plan !== undefined && facts.plan !== null,
  };
  // The cluster is not asked for a dry run of a job that is refused anyway.
  const isDryRunLeftOut = refusal !== null || isNameTaken;
  const whyNot = (what: string): string => {
    if (what === 'plan') return refusal === null && facts.plan === null ? PLANNER_KNOWS_LITTLE : PLANNER_LATER;
    return what === 'cluster' && isDryRunLeftOut
      ? 'it is checked once spec and name are accepted'
      : 'it could not be read';
  };
  return {
    checked: Object.entries(asked).flatMap(([what, isAsked]) => (isAsked ? [what] : [])),
    notChecked: [
      ...Object.entries(asked).flatMap(([what, isAsked]) => (isAsked ? [] : [{ what, why: whyNot(what) }])),
      ...AFTER_SUBMIT,
    ],
  };
}

function obstaclesOf(facts: CheckFacts, wanted: number): readonly Obstacle[] {
  const { body, namespace, isNameTaken, denial, unusable = [], runtimeProblem } = facts;
  const needsChange = (
    field: string,
    value: string | null,
    of: readonly [ConditionType, string, string],
  ): readonly Obstacle[] => [{ field, value, effect: 'NeedsChange', condition: condition(...of) }];
  return [
    ...refusedFields(facts),
    ...(isNameTaken
      ? needsChange('name', body.name, [
          ...(['Accepted', 'NameTaken'] as const),
          `A job named ${body.name} exists in namespace ${namespace}.`,
        ])
      : []),
    ...(typeof runtimeProblem === 'string'
      ? needsChange('spec.runtimeRef', body.spec.runtimeRef?.name ?? null, [
          'Accepted',
          'RuntimeRefused',
          runtimeProblem,
        ])
      : []),
    ...(typeof denial === 'string' ? needsChange('spec', null, ['Placed', 'PodsRefused', denial]) : []),
    ...unusable.flatMap((one) =>
      needsChange(one.field, one.name, ['Placed', 'ObjectMissing', describeUnusable(one, namespace)]),
    ),
    ...unusableStart(facts),
    ...tooFewGpus(facts, wanted),
    ...tooSmallQuotas(facts, wanted),
    ...unplannable(facts, wanted),
  ];
}

/** A job that does not exist yet has saved nothing that it could resume from, but checkpoints can be adopted. */
function unusableStart({ body: { spec }, isStartAdopted }: CheckFacts): readonly Obstacle[] {
  const from = spec.resumeFrom?.from;
  if (from === undefined || from === SCRATCH || isStartAdopted) return [];
  const message = `spec.resumeFrom names checkpoint ${from}, which is not adopted in this namespace, and this job has saved none. Adopt it ("coxswain checkpoint adopt"), or leave spec.resumeFrom out.`;
  return [
    {
      field: 'spec.resumeFrom.from',
      value: from,
      effect: 'NeedsChange',
      condition: condition('Placed', 'CheckpointsUnusable', message),
    },
  ];
}

/** Each field that the API refuses. The values of engine fields are not repeated: a credential may be among them. */
function refusedFields({ refusal, body }: CheckFacts): readonly Obstacle[] {
  if (refusal === null) return [];
  const reason = refusal.code === 'INVALID_LAYOUT' ? 'LayoutInvalid' : 'SpecInvalid';
  const { violations = [] } = refusal;
  const whole = { effect: 'NeedsChange', condition: condition('Accepted', reason, refusal.message) } as const;
  if (violations.length === 0) return [{ field: 'spec', value: null, ...whole }];
  return violations.map(({ pointer, detail }) => {
    const path = pointer.split('/').slice(1);
    const value = path[1] === 'engine' ? undefined : valueAt(body, path);
    const isShown = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return { field: path.join('.'), value: isShown ? String(value) : null, rule: detail, ...whole };
  });
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined),
    value,
  );
}

const gpusField = ({ spec }: JobCreate): string => (spec.layout === undefined ? 'spec.gpus' : 'spec.layout');

/** Whether the cluster is too small for the job, and large enough for the fewest GPUs that the job accepts: the operator then plans it for fewer. */
function startsOnFewer({ gpus, body }: CheckFacts, wanted: number): boolean {
  const { minGpus } = body.spec;
  return minGpus !== undefined && gpus !== undefined && wanted > gpus.total && minGpus <= gpus.total;
}

function tooFewGpus(facts: CheckFacts, wanted: number): readonly Obstacle[] {
  const { gpus, body } = facts;
  if (gpus === undefined || wanted <= gpus.free) return [];
  // The words of the scheduler: the change that helps is read from them.
  const has =
    wanted > gpus.total ? `the cluster has ${gpus.total} in all` : `${gpus.free} of ${gpus.total} GPUs are free`;
  const message = `Needs ${wanted} GPU${wanted === 1 ? '' : 's'}; ${has}.`;
  return [
    {
      field: gpusField(body),
      value: `${wanted}`,
      effect: wanted > gpus.total && !startsOnFewer(facts, wanted) ? 'NeedsChange' : 'Waits',
      condition: condition('Placed', 'WaitingForCapacity', message),
    },
  ];
}

function tooSmallQuotas({ quotas = [], body }: CheckFacts, wanted: number): readonly Obstacle[] {
  // A job that leaves the size of its pods to the nodes has at least so many.
  const gpusPerNode = body.spec.resources.gpusPerNode ?? Math.min(wanted, MAX_RANKS_PER_POD);
  const demand: PodDemand = { gpus: wanted, pods: Math.ceil(wanted / gpusPerNode) };
  return quotaObstacles(quotas, demand).map(({ counts, isForEver, needed, message }) => ({
    field: counts === 'gpus' ? gpusField(body) : 'spec.resources.gpusPerNode',
    value: counts === 'gpus' ? `${needed}` : `${gpusPerNode}`,
    effect: isForEver ? 'NeedsChange' : 'Waits',
    condition: condition('Placed', 'PodsRefused', quotaSentence({ message })),
  }));
}

/** A layout that the user wrote is started even if the planner predicts that it does not fit: predictions err. */
function unplannable(facts: CheckFacts, wanted: number): readonly Obstacle[] {
  const { plan, body } = facts;
  if (plan === null || plan === undefined) return [];
  const { refusal, verdict, predictedPeakBytes = 0, gpuType = 'GPU' } = plan;
  const about = {
    field: gpusField(body),
    value: body.spec.layout === undefined ? `${wanted}` : formatLayout(body.spec.layout),
  };
  if (refusal !== undefined)
    return [
      {
        ...about,
        effect: startsOnFewer(facts, wanted) ? 'Waits' : 'NeedsChange',
        condition: condition('Accepted', 'NoLayoutFits', refusal),
      },
    ];
  if (verdict !== 'doesNotFit') return [];
  const gib = (predictedPeakBytes / GIB_BYTES).toFixed(1);
  const message = `The planner predicts that this layout does not fit: it needs ${gib} GiB of memory on a ${gpuType}.`;
  return [{ ...about, effect: 'MayFail', condition: condition('Accepted', 'NoLayoutFits', message) }];
}

function condition(type: ConditionType, reason: string, message: string): Condition {
  return { type, status: 'False', reason, message, observedGeneration: 0, lastTransitionTime: '' };
}
