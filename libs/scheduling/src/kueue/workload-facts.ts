/** What does a Workload say? Any administrator and Kueue write it, so a field of an unexpected shape counts as absent. */
import { GPU_RESOURCE } from '@coxswain/api-types';
import { KUEUE_LABELS, REQUEST_DIGEST, SLICE_ANNOTATIONS, WORKLOAD_FINALIZER } from './kueue-names.ts';

/** A condition of a Workload that was found. */
export interface WorkloadCondition {
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since 1970; 0: not stated. */
  readonly sinceMs: number;
}

/** State of one AdmissionCheck of a Workload. */
interface WorkloadCheck {
  readonly name: string;
  readonly state: string;
  readonly message: string;
}

/** What places the pods of one podSet. */
export interface NodeRules {
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Readonly<Record<string, string>>[];
}

/** What counts of a Workload. */
export interface WorkloadFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** UID of the controlling owner. */
  readonly ownerUid: string | undefined;
  readonly isDeleting: boolean;
  readonly hasFinalizer: boolean;
  readonly queueName: string | undefined;
  readonly isActive: boolean;
  /** What it asks for, as {@link requestDigest} spells it, with the counts that it has now; undefined: the annotation was removed. */
  readonly digest: string | undefined;
  /** GPUs of all pods. */
  readonly gpus: number;
  /** When it was created, in milliseconds since 1970; 0: not stated. */
  readonly createdMs: number;
  /** `namespace/name` of the smaller Workload whose place it is to take, or has taken. Absent: none. */
  readonly replaces?: string;
  readonly conditions: ReadonlyMap<string, WorkloadCondition>;
  /** Names of the flavours of each podSet, without repetition. */
  readonly flavours: readonly (readonly string[])[];
  readonly checks: readonly WorkloadCheck[];
  /** Selectors and tolerations that AdmissionChecks added, by podSet. */
  readonly updates: readonly NodeRules[];
}

type Json = Readonly<Record<string, unknown>>;

/** Reads an object of kind Workload. */
export function readWorkload(object: unknown): WorkloadFacts {
  const { metadata, spec, status } = parts(object);
  const owner = list(metadata['ownerReferences']).find(({ controller }) => controller === true);
  const assignments = list(record(status['admission'])['podSetAssignments']);
  const checks = list(status['admissionChecks']);
  const replaces = text(record(metadata['annotations'])[SLICE_ANNOTATIONS.replaces]);
  return {
    name: text(metadata['name']) ?? '',
    uid: text(metadata['uid']) ?? '',
    resourceVersion: text(metadata['resourceVersion']) ?? '',
    ownerUid: text(owner?.['uid']),
    isDeleting: metadata['deletionTimestamp'] !== undefined,
    hasFinalizer: array(metadata['finalizers']).includes(WORKLOAD_FINALIZER),
    queueName: text(spec['queueName']),
    isActive: spec['active'] !== false,
    digest: digestOf(metadata, spec),
    gpus: sumOfGpus(spec['podSets']),
    createdMs: Date.parse(text(metadata['creationTimestamp']) ?? '') || 0,
    ...(replaces === undefined ? {} : { replaces }),
    conditions: new Map(list(status['conditions']).map((one) => [text(one['type']) ?? '', conditionOf(one)])),
    flavours: assignments.map(({ flavors }) => [...new Set(Object.values(texts(flavors)))]),
    checks: checks.map(({ name, state, message }) => ({
      name: text(name) ?? '',
      state: text(state) ?? '',
      message: text(message) ?? '',
    })),
    updates: checks.flatMap(({ podSetUpdates }) => list(podSetUpdates).map(nodeRulesOf)),
  };
}

/** Somebody may have changed counts and left the annotation. */
function digestOf(metadata: Json, spec: Json): string | undefined {
  const pods = text(record(metadata['annotations'])[REQUEST_DIGEST]);
  return pods === undefined ? undefined : requestDigest(pods, spec['podSets']);
}

/** Digest of the templates, then the size of the gang as `2x8,1x4`: pods by the GPUs of each. */
export function requestDigest(templates: string, podSets: unknown): string {
  const sizes = list(podSets).map(({ count, template }) => `${String(count)}x${gpusOf(template)}`);
  return `${templates}/${sizes.join(',')}`;
}

function sumOfGpus(podSets: unknown): number {
  return list(podSets).reduce((sum, { count, template }) => sum + Number(count) * (Number(gpusOf(template)) || 0), 0);
}

/** Whether the first size has fewer pods than the other one, of the same kinds. Kueue lowers counts of a Workload with quota, and changes nothing else. */
export function isFewerPods(size: string | undefined, than: string | undefined): boolean {
  const [fewer, more] = [podsOf(size), podsOf(than)];
  if (fewer.length !== more.length || size === than) return false;
  return fewer.every(({ count, gpus }, index) => count <= (more[index]?.count ?? 0) && gpus === more[index]?.gpus);
}

function podsOf(size: string | undefined): readonly { readonly count: number; readonly gpus: string }[] {
  return (size ?? '').split(',').map((set) => {
    const [count = '', gpus = ''] = set.split('x');
    return { count: Number(count), gpus };
  });
}

/** The size alone. */
export function sizeOfDigest(digest: string | undefined): string | undefined {
  return digest?.split('/')[1];
}

function gpusOf(template: unknown): string {
  const containers = list(record(record(template)['spec'])['containers']);
  const counts = containers.flatMap(({ resources }) => record(record(resources)['requests'])[GPU_RESOURCE] ?? []);
  return counts.map(String).join('+');
}

/** UID of the job that a Workload names; undefined: it is not one that the operator wrote. */
export function jobUidOf(object: unknown): string | undefined {
  const { metadata } = parts(object);
  const uid = text(record(metadata['labels'])[KUEUE_LABELS.jobUid]);
  return record(metadata['annotations'])[REQUEST_DIGEST] === undefined ? undefined : uid;
}

/** Labels and tolerations of a ResourceFlavor. */
export function flavourRules(object: unknown): NodeRules {
  const { spec } = parts(object);
  return { nodeSelector: texts(spec['nodeLabels']), tolerations: list(spec['tolerations']).map(texts) };
}

function nodeRulesOf(update: Json): NodeRules {
  return { nodeSelector: texts(update['nodeSelector']), tolerations: list(update['tolerations']).map(texts) };
}

function conditionOf({ status, reason, message, lastTransitionTime }: Json): WorkloadCondition {
  const since = Date.parse(text(lastTransitionTime) ?? '');
  return {
    isTrue: status === 'True',
    reason: text(reason) ?? '',
    message: text(message) ?? '',
    sinceMs: Number.isNaN(since) ? 0 : since,
  };
}

function parts(object: unknown): { readonly metadata: Json; readonly spec: Json; readonly status: Json } {
  const { metadata, spec, status } = record(object);
  return { metadata: record(metadata), spec: record(spec), status: record(status) };
}

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function array(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function list(value: unknown): readonly Json[] {
  return array(value).map(record);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function texts(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
