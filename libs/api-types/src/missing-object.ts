/** Which objects of its namespace does a job need before its pods can start, and how is a missing one reported? */
import type { TrainingJobSpec } from './training-job-spec.ts';

/** Kinds that the operator may look up. Kubelets alone read Secrets; the API server checks service accounts and priority classes of a pod. */
export const REFERENCED_KINDS = ['PersistentVolumeClaim', 'ConfigMap'] as const;
/** Kind of a referenced object. */
export type ReferencedKind = (typeof REFERENCED_KINDS)[number];

/** An object that the job's pods need, and what names it: `spec.data.claimName`. */
export interface ObjectReference {
  readonly kind: ReferencedKind;
  readonly name: string;
  readonly field: string;
}

/** Why pods cannot use a referenced object, each with the end of a sentence. */
const PROBLEMS = {
  missing: 'does not exist',
  deleting: 'is being deleted',
  lost: 'has lost its volume',
} as const;
/** Why pods cannot use a referenced object. */
export type ReferenceProblem = keyof typeof PROBLEMS;

/** A referenced object that pods cannot use. */
export interface UnusableReference extends ObjectReference {
  readonly problem: ReferenceProblem;
}

/** What was read of the objects that a job names. */
export interface ReadReferences {
  readonly unusable: readonly UnusableReference[];
  /** Claims that pods of one node alone can mount at a time: none of their access modes lets more nodes do so. */
  readonly ofOneNode: readonly ObjectReference[];
}

/** The objects that a spec and its pod template name. Of an optional one pods need nothing. */
export function referencesOf(
  spec: Pick<TrainingJobSpec, 'checkpoint' | 'data' | 'initialWeights' | 'scratch'>,
  template?: unknown,
): readonly ObjectReference[] {
  const claims = (['checkpoint', 'data', 'initialWeights', 'scratch'] as const).flatMap((part) =>
    claim(spec[part]?.claimName, `spec.${part}.claimName`),
  );
  const all = [...claims, ...volumesOf(template).flatMap(ofVolume)];
  return all.filter(
    (one, index) => all.findIndex(({ kind, name }) => kind === one.kind && name === one.name) === index,
  );
}

const OF_RUNTIME = 'a volume of the runtime';

function ofVolume(volume: Fields): readonly ObjectReference[] {
  const { name, optional } = fieldsOf(volume['configMap']);
  const configMap: readonly ObjectReference[] =
    typeof name === 'string' && optional !== true ? [{ kind: 'ConfigMap', name, field: OF_RUNTIME }] : [];
  return [...claim(fieldsOf(volume['persistentVolumeClaim'])['claimName'], OF_RUNTIME), ...configMap];
}

function claim(name: unknown, field: string): readonly ObjectReference[] {
  return typeof name === 'string' && name !== '' ? [{ kind: 'PersistentVolumeClaim', name, field }] : [];
}

type Fields = Readonly<Record<string, unknown>>;

function volumesOf(template: unknown): readonly Fields[] {
  const { volumes } = fieldsOf(fieldsOf(template)['spec']);
  return Array.isArray(volumes) ? volumes.map(fieldsOf) : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** `PersistentVolumeClaim nowhere (spec.data.claimName) does not exist in namespace lab. The job starts once pods can use it.` */
export function describeUnusable({ kind, name, field, problem }: UnusableReference, namespace: string): string {
  return `${kind} ${name} (${field}) ${PROBLEMS[problem]} in namespace ${namespace}. The job starts once pods can use it.`;
}
