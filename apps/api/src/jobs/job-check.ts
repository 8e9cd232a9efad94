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
  type UnusableReference,
  whyNotTraining,
} from '@coxswain/api-types';
import type { DomainError } from '@coxswain/domain-error';

/** What was asked about the job, in the order in which a job meets it; undefined: it could not be asked. */
export interface CheckFacts {
  readonly body: JobCreate;
  readonly namespace: string;
  /** Why the API refuses the spec; null: it does not. */
  readonly refusal: DomainError | null;
  readonly isNameTaken: boolean;
  /** The cluster's sentence on a dry run of the job; null: it accepts it. */
  readonly denial: string | null | undefined;
  /** Objects that the job names and that pods cannot use. */
  readonly unusable: readonly UnusableReference[] | undefined;
  readonly gpus: GpuCounts | undefined;
}

/** What only the operator can ask, once the job is there. */
const AFTER_SUBMIT = [
  { what: 'plan', why: 'the planner searches a layout after the submit; `coxswain plan` asks it now' },
  { what: 'pods', why: 'quota, policies and webhooks on pods, images and Secrets show once pods are tried' },
] as const;

/** The answer. The sentence is the one that the job itself would have. */
export function checkOf(facts: CheckFacts): JobCheck {
  const { body, namespace, denial, unusable, gpus } = facts;
  const { name, spec } = body;
  const wanted = gpuCount(effectiveLayout(spec, undefined) ?? null, spec.gpus);
  const conditions = conditionsOf(facts, wanted);
  const verdict = whyNotTraining({
    ...{ name, namespace, state: 'Queued', summary: '', applyFailure: null },
    // A job that has passed everything would be placed.
    conditions:
      conditions.length > 0 ? conditions : [condition('Accepted', 'SpecValid', { message: '', status: 'True' })],
  });
  // Of a job that is refused anyway the cluster is not asked.
  const whyNot =
    facts.refusal !== null || facts.isNameTaken
      ? 'it is checked once spec and name are accepted'
      : 'it could not be read';
  const asked = {
    spec: true,
    name: true,
    cluster: denial !== undefined,
    objects: unusable !== undefined,
    gpus: gpus !== undefined,
  };
  return {
    verdict: verdict ?? null,
    checked: Object.entries(asked).flatMap(([what, isAsked]) => (isAsked ? [what] : [])),
    notChecked: [
      ...Object.entries(asked).flatMap(([what, isAsked]) =>
        isAsked ? [] : [{ what, why: what === 'gpus' ? 'it could not be read' : whyNot }],
      ),
      ...(spec.layout === undefined ? AFTER_SUBMIT : AFTER_SUBMIT.slice(1)),
    ],
    gpusWanted: wanted,
    gpus: gpus ?? null,
  };
}

function conditionsOf(facts: CheckFacts, wanted: number): readonly Condition[] {
  const { body, namespace, refusal, isNameTaken, denial, unusable = [], gpus } = facts;
  if (refusal !== null) {
    const reason = refusal.code === 'INVALID_LAYOUT' ? 'LayoutInvalid' : 'SpecInvalid';
    return [condition('Accepted', reason, { message: refusal.message })];
  }
  if (isNameTaken)
    return [
      condition('Accepted', 'NameTaken', { message: `A job named ${body.name} exists in namespace ${namespace}.` }),
    ];
  if (typeof denial === 'string') return [condition('Placed', 'PodsRefused', { message: denial })];
  const [missing] = unusable;
  if (missing !== undefined)
    return [condition('Placed', 'ObjectMissing', { message: describeUnusable(missing, namespace) })];
  if (gpus === undefined || wanted <= gpus.free) return [];
  // The words of the scheduler: the change that helps is read from them.
  const has =
    wanted > gpus.total ? `the cluster has ${gpus.total} in all` : `${gpus.free} of ${gpus.total} GPUs are free`;
  const message = `Needs ${wanted} GPU${wanted === 1 ? '' : 's'}; ${has}.`;
  return [condition('Placed', 'WaitingForCapacity', { message })];
}

function condition(
  type: ConditionType,
  reason: string,
  { message, status = 'False' }: { readonly message: string; readonly status?: Condition['status'] },
): Condition {
  return { type, status, reason, message, observedGeneration: 0, lastTransitionTime: '' };
}
