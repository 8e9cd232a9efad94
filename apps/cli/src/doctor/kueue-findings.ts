/** What is missing between Coxswain and Kueue, so that jobs that name a queue wait or start outside it? Pure. */
import { API_GROUP, API_VERSION } from '@coxswain/api-types';
import { KUEUE_LABELS, PLACEMENT_CHECK_CONTROLLER } from '@coxswain/scheduling';
import { formatCount } from '@coxswain/units';
import type { ReadObject } from './read-object.ts';

/** Kinds that are read beside those of every cluster; a cluster without Kueue does not serve them. */
export const KUEUE_KINDS = ['LocalQueue', 'ClusterQueue', 'ResourceFlavor', 'AdmissionCheck'] as const;

export type KueueKind = (typeof KUEUE_KINDS)[number];

/** Objects of Kueue. `unserved`: the API server does not know the kind, or the caller may not read it. Absent: not read. */
export type KueueObjects = Readonly<Partial<Record<KueueKind, readonly ReadObject[] | 'unserved'>>> & {
  /** Kueue's own configuration; absent: it could not be read, or is called otherwise here. */
  readonly kueueConfiguration?: string;
};

/** Something that is missing between the two. */
export interface KueueFinding {
  readonly kind:
    | 'KueueAbsent'
    | 'QueueMissing'
    | 'CheckNotUsed'
    | 'TopologyQueue'
    | 'CheckInactive'
    | 'FrameworkNotListed'
    | 'QueueLabelMissing';
  readonly message: string;
}

/** How Kueue's configuration names our kind. */
const FRAMEWORK = `TrainingJob.${API_VERSION}.${API_GROUP}`;
/** Kueue sends every pod of a namespace to the LocalQueue of this name. */
const DEFAULT_QUEUE = 'default';
/** Objects that are named for each finding. */
const MOST = 5;

/** The findings about jobs that have not ended. */
export function kueueFindings(jobs: readonly ReadObject[], objects: KueueObjects): readonly KueueFinding[] {
  const { LocalQueue: locals } = objects;
  const queued = jobs.filter((job) => queueOf(job) !== undefined);
  if (locals === undefined) return [];
  if (locals === 'unserved') return ofMissingKueue(queued);
  return [
    ...ofMissingQueues(queued, locals),
    ...ofClusterQueues(queued, locals, objects),
    ...ofChecks(objects),
    ...ofDefaultQueues(jobs, locals, objects),
  ];
}

function ofMissingKueue(queued: readonly ReadObject[]): readonly KueueFinding[] {
  if (queued.length === 0) return [];
  const jobs = formatCount(queued.length, 'unfinished job');
  const names = queued.length === 1 ? 'has' : 'have';
  const message = `${jobs} ${names} label ${KUEUE_LABELS.queueName}, and LocalQueues of Kueue are not served here or may not be read. With queue.kueue.enabled these jobs wait; without it the label means nothing. Install Kueue, or remove the label.`;
  return [{ kind: 'KueueAbsent', message }];
}

function ofMissingQueues(queued: readonly ReadObject[], locals: readonly ReadObject[]): readonly KueueFinding[] {
  const missing = queued.filter((job) => localQueueOf(job, locals) === undefined);
  return missing.slice(0, MOST).map((job) => ({
    kind: 'QueueMissing',
    message: `Job ${job.metadata.name} of namespace ${job.metadata.namespace ?? ''} names LocalQueue ${queueOf(job) ?? ''}, which does not exist there. Create it, or change label ${KUEUE_LABELS.queueName} of the job.`,
  }));
}

/** Of the ClusterQueues that jobs wait in: whether Coxswain is asked for nodes, and whether Kueue would choose nodes itself. */
function ofClusterQueues(
  queued: readonly ReadObject[],
  locals: readonly ReadObject[],
  { ClusterQueue: clusters, ResourceFlavor: flavours, AdmissionCheck: checks }: KueueObjects,
): readonly KueueFinding[] {
  const own = namesOf(listed(checks).filter(isOwnCheck));
  const withTopology = namesOf(listed(flavours).filter(({ spec }) => typeof spec?.['topologyName'] === 'string'));
  const used = new Set(queued.map((job) => localQueueOf(job, locals)?.spec?.['clusterQueue']));
  return listed(clusters)
    .filter(({ metadata }) => used.has(metadata.name))
    .flatMap(({ metadata: { name }, spec = {} }): readonly KueueFinding[] => {
      const named = list(record(spec['admissionChecksStrategy'])['admissionChecks']).map((one) => one['name']);
      const ofQueue = list(spec['resourceGroups']).flatMap((group) => list(group['flavors']).map((one) => one['name']));
      const isTopologyOnly = ofQueue.length > 0 && ofQueue.every((flavour) => withTopology.has(flavour));
      const unasked = `ClusterQueue ${name} admits jobs before Coxswain has found nodes for them, because it names no AdmissionCheck with controllerName ${PLACEMENT_CHECK_CONTROLLER}. Add one to spec.admissionChecksStrategy.`;
      const topology = `Every flavour of ClusterQueue ${name} has a topology, so Kueue chooses nodes itself and counts other nodes than those of the gang. Use flavours without spec.topologyName for training jobs.`;
      return [
        ...(named.some((check) => own.has(check)) ? [] : [{ kind: 'CheckNotUsed' as const, message: unasked }]),
        ...(isTopologyOnly ? [{ kind: 'TopologyQueue' as const, message: topology }] : []),
      ];
    });
}

function ofChecks({ AdmissionCheck: checks }: KueueObjects): readonly KueueFinding[] {
  const inactive = listed(checks).filter((check) => isOwnCheck(check) && !isActive(check));
  return inactive.map(({ metadata: { name } }) => ({
    kind: 'CheckInactive',
    message: `AdmissionCheck ${name} is not Active, so its ClusterQueues admit nothing. The operator marks it: set queue.kueue.enabled of the chart, and check that an operator leads.`,
  }));
}

/** Kueue gates the pods of a namespace with such a queue, ours too, unless it knows their owner and the owner names a queue. */
function ofDefaultQueues(
  jobs: readonly ReadObject[],
  locals: readonly ReadObject[],
  { kueueConfiguration: configuration }: KueueObjects,
): readonly KueueFinding[] {
  const namespaces = new Set(
    locals.filter(({ metadata }) => metadata.name === DEFAULT_QUEUE).map(({ metadata }) => metadata.namespace),
  );
  const inThem = jobs.filter(({ metadata }) => namespaces.has(metadata.namespace));
  if (inThem.length === 0) return [];
  const where = `LocalQueue ${DEFAULT_QUEUE} of namespace ${inThem[0]?.metadata.namespace ?? ''}`;
  const isListed = configuration === undefined || configuration.includes(FRAMEWORK);
  const unlabelled = inThem.filter((job) => queueOf(job) === undefined);
  const framework = `Kueue gates the pods of every job of the namespace of ${where}, because its configuration does not list the kind. Add ${FRAMEWORK} to integrations.externalFrameworks and restart Kueue.`;
  return [
    ...(isListed ? [] : [{ kind: 'FrameworkNotListed' as const, message: framework }]),
    ...unlabelled.slice(0, MOST).map(({ metadata }) => ({
      kind: 'QueueLabelMissing' as const,
      message: `Job ${metadata.name} has no label ${KUEUE_LABELS.queueName}, and Kueue gates its pods because of LocalQueue ${DEFAULT_QUEUE} of namespace ${metadata.namespace ?? ''}. Add the label.`,
    })),
  ];
}

type Json = Readonly<Record<string, unknown>>;

function queueOf({ metadata }: ReadObject): string | undefined {
  return metadata.labels?.[KUEUE_LABELS.queueName];
}

function localQueueOf(job: ReadObject, locals: readonly ReadObject[]): ReadObject | undefined {
  return locals.find(({ metadata }) => metadata.name === queueOf(job) && metadata.namespace === job.metadata.namespace);
}

function isOwnCheck({ spec }: ReadObject): boolean {
  return spec?.['controllerName'] === PLACEMENT_CHECK_CONTROLLER;
}

function isActive({ status }: ReadObject): boolean {
  return list(status?.['conditions']).some((one) => one['type'] === 'Active' && one['status'] === 'True');
}

function namesOf(objects: readonly ReadObject[]): ReadonlySet<unknown> {
  return new Set(objects.map(({ metadata }) => metadata.name));
}

function listed(objects: KueueObjects[KueueKind]): readonly ReadObject[] {
  return objects === undefined || objects === 'unserved' ? [] : objects;
}

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(record) : [];
}
