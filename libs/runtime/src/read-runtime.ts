import {
  ClusterTrainingRuntimeSpec,
  runtimeName,
  type RuntimeKind,
  type RuntimeSnapshot,
  type TrainingJobSpec,
  type TrainingRuntime,
  TrainingRuntimeSpec,
} from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';
import { isRecord, type Json, record } from './json.ts';
import { findClusterOnlyFields } from './namespace-rules.ts';
import { type JobRequirements, describeConflict } from './job-bounds.ts';
import { findOperatorFields, type Problem, findConflictingVariables } from './operator-fields.ts';
import { findMisshapenFields } from './shape.ts';

/** What decisions need of a runtime. */
export interface ReadRuntime {
  readonly kind: RuntimeKind;
  readonly name: string;
  /** Namespaces whose jobs may use it; undefined: all namespaces. */
  readonly namespaces: readonly string[] | undefined;
  readonly usable: UsableRuntime;
}

/** Whether jobs can use a runtime, and what they get from it. */
type UsableRuntime =
  | { readonly kind: 'usable'; readonly snapshot: RuntimeSnapshot; readonly requirements: JobRequirements }
  | { readonly kind: 'refused'; readonly message: string };

/** Every Placement contains the runtime, a job keeps 20 Placements, and every pod is made from it. */
export const MAX_RUNTIME_BYTES = 16_384;
const MAX_DEPTH = 24;
/** Most problems that a message lists. */
const MAX_LISTED_PROBLEMS = 3;

/**
 * Reads and checks a runtime of the API server, and drops everything that no pod will have. Never throws, whatever the runtime
 * contains.
 */
export function readRuntime(runtime: TrainingRuntime): ReadRuntime {
  const { kind, metadata } = runtime;
  const usable = judge(runtime);
  const { namespaces } = usable.kind === 'usable' ? record(runtime.spec) : {};
  return { kind, name: metadata.name, namespaces: namespaces as readonly string[] | undefined, usable };
}

function judge(runtime: TrainingRuntime): UsableRuntime {
  const { kind, metadata } = runtime;
  const name = `${kind} ${metadata.name}`;
  const raw: unknown = runtime.spec;
  if (isDeeperThan(raw, MAX_DEPTH))
    return refused(`${name} is nested deeper than ${MAX_DEPTH} levels; make it flatter`);
  const bytes = new TextEncoder().encode(JSON.stringify(raw ?? {})).length;
  if (bytes > MAX_RUNTIME_BYTES) {
    return refused(`${name} has ${bytes} bytes, and ${MAX_RUNTIME_BYTES} at most; move files into a ConfigMap`);
  }
  const parsed = (kind === 'TrainingRuntime' ? TrainingRuntimeSpec : ClusterTrainingRuntimeSpec).safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return refused(`${name} cannot be read: ${['spec', ...(issue?.path ?? [])].join('.')} ${issue?.message ?? ''}`);
  }
  const { template, engine, ...parts } = parsed.data;
  const { computeDomain, jobs }: Partial<ClusterTrainingRuntimeSpec> = parsed.data;
  const problems = [
    ...findMisshapenFields(template),
    ...findOperatorFields(template),
    ...findConflictingVariables(template, parts.nicEnvironments),
    ...(kind === 'TrainingRuntime' ? findClusterOnlyFields(template) : []),
  ];
  if (problems.length > 0) return refused(`${name}: ${describeProblems(problems)}`);
  const snapshot: RuntimeSnapshot = {
    kind,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    ...whereGiven('sourceScript', parts.sourceScript),
    ...whereGiven('computeDomain', computeDomain),
    ...whereGiven('imagePullDeadlineSeconds', parts.imagePullDeadlineSeconds),
    ...whereGiven('nicEnvironments', parts.nicEnvironments),
    ...whereGiven('preflight', parts.preflight),
    ...whereGiven('failurePolicy', parts.failurePolicy),
    template,
  };
  return { kind: 'usable', snapshot, requirements: { engine, bounds: jobs } };
}

/** The hash of a Placement distinguishes an absent field from an undefined one. */
function whereGiven<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

/** Why a job of the namespace cannot use the runtime; undefined if it can. */
export function runtimeRefusal(
  { namespace, spec }: { readonly namespace: string; readonly spec: TrainingJobSpec },
  { kind, name, namespaces, usable }: ReadRuntime,
): string | undefined {
  if (usable.kind === 'refused') return usable.message;
  if (namespaces !== undefined && !namespaces.includes(namespace)) {
    return `${runtimeName({ kind, name })} is not for namespace ${namespace}; choose another, or ask an administrator to add the namespace to its spec.namespaces`;
  }
  if ((spec.standby ?? 0) > 0 && usable.kind === 'usable' && usable.snapshot.computeDomain !== undefined) {
    return `standby cannot be used with ${runtimeName({ kind, name })}: it has computeDomain, and a ComputeDomain must know its nodes before it starts; leave standby out, or name a runtime without computeDomain`;
  }
  return describeConflict(spec, usable);
}

function describeProblems(problems: readonly Problem[]): string {
  const sentences = problems
    .slice(0, MAX_LISTED_PROBLEMS)
    .map(({ field, why }) => `template: ${short(field)} cannot be set: ${why}`);
  const more = problems.length - sentences.length;
  return `${sentences.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

const MAX_FIELD = 200;

function short(field: string): string {
  return cutText(field, MAX_FIELD);
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (!Array.isArray(value) && !isRecord(value)) return false;
  if (levels === 0) return true;
  const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value as Json);
  return inner.some((one) => isDeeperThan(one, levels - 1));
}

function refused(message: string): UsableRuntime {
  return { kind: 'refused', message };
}
