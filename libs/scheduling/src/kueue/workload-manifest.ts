/** The Workload of a job, and the bodies of the writes to it. */
import { API_GROUP_VERSION, jobPrefix, type TrainingJob } from '@coxswain/api-types';
import { gangTemplates } from '@coxswain/runtime';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { GangRequest } from '../gang-request.ts';
import { canonicalJson } from '../reservations/canonical-json.ts';
import { podShape } from './pod-shape.ts';
import { KUEUE_API, KUEUE_LABELS, REQUEST_DIGEST, SLICE_ANNOTATIONS, WORKLOAD_FINALIZER } from './kueue-names.ts';
import { requestDigest, type WorkloadFacts } from './workload-facts.ts';

/** Priority of a Workload. Kueue does not look the class up for Workloads that others write. */
export interface WorkloadPriority {
  readonly value: number;
  /** Absent: the cluster has no class for the job. */
  readonly class?: { readonly kind: 'PriorityClass' | 'WorkloadPriorityClass'; readonly name: string };
}

/** What a Workload of a job asks for. */
interface WorkloadRequest {
  readonly job: Pick<TrainingJob, 'metadata'>;
  readonly queueName: string;
  readonly request: GangRequest;
  readonly priority: WorkloadPriority;
}

/** Name of the Workload of a job. */
export function workloadName({ metadata }: Pick<TrainingJob, 'metadata'>): string {
  return `coxswain-${jobPrefix(metadata)}`;
}

/** Names of the Workloads of a job: of the first one, and of one that takes its place when the job grows. They take turns. */
export function workloadNames(job: Pick<TrainingJob, 'metadata'>): readonly [string, string] {
  const name = workloadName(job);
  return [name, `${name}-grown`];
}

/** The Workload that is to take the place of a smaller one. Kueue counts the difference alone, and finishes the smaller one when the quota is there. */
export function sliceManifest(
  about: WorkloadRequest & { readonly replaces: Pick<WorkloadFacts, 'name'> },
): Readonly<Record<string, unknown>> {
  const { job, replaces } = about;
  const manifest = workloadManifest(about) as { readonly metadata: { readonly annotations: object } };
  const [name, other] = workloadNames(job);
  const annotations = {
    ...manifest.metadata.annotations,
    [SLICE_ANNOTATIONS.elastic]: 'true',
    [SLICE_ANNOTATIONS.replaces]: `${job.metadata.namespace ?? ''}/${replaces.name}`,
  };
  const renamed = { ...manifest.metadata, name: replaces.name === name ? other : name, annotations };
  // Without the finalizer its deletion is one write, which fails if Kueue has given it quota meanwhile.
  return { ...manifest, metadata: { ...renamed, finalizers: [] } };
}

/** Puts the finalizer on a Workload that has taken the place of another one. */
export function holdPatch({ metadata }: { readonly metadata: HeldMetadata }): Readonly<Record<string, unknown>> {
  const { uid, resourceVersion, finalizers = [] } = metadata;
  return { metadata: { uid, resourceVersion, finalizers: [...finalizers, WORKLOAD_FINALIZER] } };
}

interface HeldMetadata {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly finalizers?: readonly string[];
}

/** Lowers the number of pods of a Workload that holds quota, which gives the difference back at once. `found`: the Workload as it was read. */
export function fewerPodsPatch(found: unknown, request: GangRequest): Readonly<Record<string, unknown>> {
  const { metadata, spec } = found as {
    readonly metadata: Readonly<Record<string, unknown>>;
    readonly spec: { readonly podSets: readonly Readonly<Record<string, unknown>>[] };
  };
  const counts = new Map(podSets(request).map(({ name, count }) => [name as string, count]));
  return {
    metadata: { uid: metadata['uid'], resourceVersion: metadata['resourceVersion'] },
    spec: {
      podSets: spec.podSets.map((set) => ({ ...set, count: counts.get(String(set['name'])) ?? set['count'] })),
    },
  };
}

/** What {@link WorkloadFacts} `digest` is for pods of that request. */
export function digestOfRequest(request: GangRequest): string {
  const sets = podSets(request);
  return requestDigest(templatesDigest(sets), sets);
}

/** The fields of the Workload that the operator owns, as server-side apply needs them. `minCount` is never set: a smaller gang needs a layout of its own. */
export function workloadManifest({
  job,
  queueName,
  request,
  priority,
}: WorkloadRequest): Readonly<Record<string, unknown>> {
  const { name, namespace, uid } = job.metadata;
  const sets = podSets(request);
  return {
    apiVersion: `${KUEUE_API.group}/${KUEUE_API.version}`,
    kind: 'Workload',
    metadata: {
      name: workloadName(job),
      namespace,
      labels: { [KUEUE_LABELS.jobUid]: uid },
      annotations: { [REQUEST_DIGEST]: templatesDigest(sets) },
      finalizers: [WORKLOAD_FINALIZER],
      // blockOwnerDeletion would need one right more and change nothing: the finalizer of the job waits for its pods.
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: 'TrainingJob', name, uid, controller: true }],
    },
    spec: { queueName, podSets: sets, ...priorityFields(priority) },
  };
}

/** What changes in a Workload without quota when the job needs other pods or names another queue: a merge patch for the version that was read. */
export function changePatch(
  { uid, resourceVersion }: Pick<WorkloadFacts, 'uid' | 'resourceVersion'>,
  request: WorkloadRequest,
): Readonly<Record<string, unknown>> {
  const { metadata, spec } = workloadManifest(request) as {
    readonly metadata: { readonly annotations: object };
    readonly spec: object;
  };
  return {
    metadata: { uid, resourceVersion, annotations: metadata.annotations },
    spec: { priorityClassRef: null, ...spec },
  };
}

interface PodSet {
  readonly name: 'ranks' | 'last';
  readonly count: number;
  readonly template: { readonly spec: Readonly<Record<string, unknown>> };
}

function podSets(request: GangRequest): readonly PodSet[] {
  const { standbys = 0 } = request;
  // A standby requests what a full pod does.
  return gangTemplates({ ...podShape(request), demand: request.demand }).map(({ kind, count, spec }) => ({
    name: kind === 'last' ? 'last' : 'ranks',
    count: kind === 'last' ? count : count + standbys,
    template: { spec },
  }));
}

function templatesDigest(sets: readonly PodSet[]): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalJson(sets.map(({ template }) => template))))).slice(0, 16);
}

const GROUPS = { PriorityClass: 'scheduling.k8s.io', WorkloadPriorityClass: KUEUE_API.group } as const;

function priorityFields({ value, class: named }: WorkloadPriority): Readonly<Record<string, unknown>> {
  if (named === undefined) return { priority: value };
  return { priority: value, priorityClassRef: { group: GROUPS[named.kind], kind: named.kind, name: named.name } };
}
