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
import { beyondNamespace } from './namespace-rules.ts';
import { type AsksOfJobs, disagreement } from './job-bounds.ts';
import { operatorsOwn, type Problem, unfitVariables } from './operator-fields.ts';
import { misshapen } from './shape.ts';

/** A runtime as far as decisions ask for it. */
export interface ReadRuntime {
  readonly kind: RuntimeKind;
  readonly name: string;
  /** Whose jobs may use it; undefined: every namespace's. */
  readonly namespaces: readonly string[] | undefined;
  readonly usable: UsableRuntime;
}

/** Whether jobs can be run with a runtime, and with what of it. */
type UsableRuntime =
  | { readonly kind: 'usable'; readonly snapshot: RuntimeSnapshot; readonly asks: AsksOfJobs }
  | { readonly kind: 'refused'; readonly message: string };

/** Each Placement carries it, of which a job keeps 20, and each pod is made of it. */
export const MAX_RUNTIME_BYTES = 16_384;
const MAX_DEPTH = 24;
/** Problems that a message tells of. */
const MOST_TOLD = 3;

/** What a runtime of the API server holds, judged: nothing of it is kept that no pod will hold. Never throws, whatever was written. */
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
    ...misshapen(template),
    ...operatorsOwn(template),
    ...unfitVariables(template, parts.nicEnvironments),
    ...(kind === 'TrainingRuntime' ? beyondNamespace(template) : []),
  ];
  if (problems.length > 0) return refused(`${name}: ${told(problems)}`);
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
  return { kind: 'usable', snapshot, asks: { engine, bounds: jobs } };
}

/** The hash of a Placement tells a field that is absent from one that is undefined. */
function whereGiven<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

/** Why a job of that namespace cannot use the runtime; undefined where it can. */
export function runtimeRefusal(
  { namespace, spec }: { readonly namespace: string; readonly spec: TrainingJobSpec },
  { kind, name, namespaces, usable }: ReadRuntime,
): string | undefined {
  if (usable.kind === 'refused') return usable.message;
  if (namespaces !== undefined && !namespaces.includes(namespace)) {
    return `${runtimeName({ kind, name })} is not for namespace ${namespace}; choose another, or ask an administrator to add the namespace to its spec.namespaces`;
  }
  return disagreement(spec, usable);
}

function told(problems: readonly Problem[]): string {
  const sentences = problems
    .slice(0, MOST_TOLD)
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
