/** What a pod of another system has beyond image, program and resources becomes a runtime: devices, networks, tolerations, selectors, sidecars. */
import {
  API_GROUP_VERSION,
  CONTAINERS,
  GPU_RESOURCE,
  type RuntimeKind,
  type TrainingJobSpecInput,
} from '@coxswain/api-types';
import { readRuntime } from '@coxswain/runtime';
import type { ImportReport } from './import-report.ts';
import type { PodPart, PodView } from './pod.ts';
import { SHIPPED_RUNTIMES, type ShippedRuntime } from './shipped-runtimes.ts';
import type { Source } from './source.ts';
import { OF_A_RUNTIME } from './volumes.ts';

/** A runtime as `kubectl apply` takes it. */
export interface WrittenRuntime {
  readonly apiVersion: typeof API_GROUP_VERSION;
  readonly kind: RuntimeKind;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: { readonly description: string; readonly template: object };
}

/** The runtime that the pods of a job need, and the reference of the job. */
export interface NeededRuntime {
  readonly runtimeRef: NonNullable<TrainingJobSpecInput['runtimeRef']>;
  /** Absent if a shipped runtime has everything. */
  readonly written?: WrittenRuntime;
}

const OF_THE_JOB = new Set([GPU_RESOURCE, 'cpu', 'memory', 'ephemeral-storage']);
const NETWORK_ANNOTATIONS = /^(?:k8s\.v1\.cni\.cncf\.io|networking\.gke\.io|devices\.gke\.io|k8s\.ovn\.org)\//;
const IS_NETWORK = /efa|rdma|infiniband|(?:^|\/)ib(?:$|[_-])|roce|hostdev|mlnx|sriov|tcpx|gpudirect/i;
const POD_FIELDS = ['hostNetwork', 'dnsPolicy', 'dnsConfig', 'hostIPC', 'runtimeClassName'] as const;
const BY_RUNTIME = 'a runtime gives it to the pods of the job (spec.runtimeRef)';
const TCP = 'a runtime gives it to the pods of the job (spec.runtimeRef); without it NCCL would use TCP';

interface Found {
  readonly annotations: Record<string, unknown>;
  readonly spec: Record<string, unknown>;
  readonly lists: Record<'tolerations' | 'volumes' | 'initContainers' | 'imagePullSecrets' | 'beside', unknown[]>;
  readonly trainer: Record<string, unknown>;
  readonly devices: Record<string, unknown>;
  readonly mounts: unknown[];
  readonly fields: { readonly source: Source; readonly to: string; readonly isNetwork: boolean }[];
}

/** The runtime for a pod; undefined if its job needs none. */
export function runtimeOfPod(
  pod: PodView,
  { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
  report: ImportReport,
): NeededRuntime | undefined {
  const found: Found = {
    annotations: {},
    spec: {},
    lists: { tolerations: [], volumes: [], initContainers: [], imagePullSecrets: [], beside: [] },
    trainer: {},
    devices: {},
    mounts: [],
    fields: [],
  };
  for (const part of pod.parts) readPart(part, found);
  for (const list of ['requests', 'limits']) readDevices(pod.resources.at(list), found);
  if (found.fields.length === 0) return undefined;
  const shipped = shippedFor(found);
  const isNetwork = found.fields.some((field) => field.isNetwork);
  if (shipped !== undefined && isHeldBy(shipped, found)) {
    reportFields(found, `runtime ${shipped.name}`, report);
    report.add({
      outcome: 'changed',
      from: 'devices of the pod',
      to: `runtimeRef ${shipped.name}`,
      why: `examples/runtimes/${shipped.file} holds the same devices`,
      todo: `see that the cluster has it: kubectl get clustertrainingruntime ${shipped.name}; if not, an administrator applies that file`,
    });
    return { runtimeRef: { name: shipped.name } };
  }
  const written = writtenRuntime(found, { name: `${name.slice(0, 55)}-pods`, namespace }, report);
  reportFields(found, `runtime ${written.metadata.name}`, report);
  const who =
    written.kind === 'ClusterTrainingRuntime' ? 'give it to an administrator' : 'apply it in the namespace of the job';
  report.add({
    outcome: 'changed',
    from: 'what the pods have beyond the job',
    to: `runtimeRef ${written.metadata.name}`,
    why: `${isNetwork ? 'without this runtime the ranks would communicate over TCP' : 'a job cannot hold it itself'}; the job waits until the runtime exists${shipped === undefined ? '' : `. The nearest shipped one is examples/runtimes/${shipped.file}`}`,
    todo: `write the runtime with --runtime-out runtime.yaml, check it, and ${who}: kubectl apply -f runtime.yaml`,
  });
  return {
    runtimeRef: { ...(written.kind === 'TrainingRuntime' ? { kind: written.kind } : {}), name: written.metadata.name },
    written,
  };
}

function reportFields({ fields }: Found, runtime: string, report: ImportReport): void {
  for (const { source, to, isNetwork } of fields)
    report.changed(source, `${runtime}: ${to}`, { why: isNetwork ? TCP : BY_RUNTIME });
}

function readPart({ spec, metadata, container }: PodPart, found: Found): void {
  for (const [key, value] of metadata.at('annotations').entries())
    if (NETWORK_ANNOTATIONS.test(key))
      take(found, found.annotations, [key, value], { to: 'annotations', isNetwork: true });
  for (const field of POD_FIELDS) {
    const value = spec.at(field);
    const isNetwork = field === 'hostNetwork';
    if (value.value !== false) take(found, found.spec, [field, value], { to: field, isNetwork });
  }
  readSelectors(spec, found);
  for (const list of ['tolerations', 'initContainers'] as const)
    for (const item of spec.at(list).items()) {
      if (list === 'tolerations' && item.at('key').value === GPU_RESOURCE) continue;
      found.lists[list].push(item.value);
      found.fields.push({ source: item, to: list, isNetwork: false });
    }
  for (const item of spec.at('containers').items())
    if (item.path !== container.path) {
      found.lists.beside.push(item.value);
      found.fields.push({ source: item, to: 'containers', isNetwork: IS_NETWORK.test(item.at('name').text() ?? '') });
    }
  readSecurity(spec, container, found);
  readVolumes(spec, container, found);
}

function take(
  found: Found,
  into: Record<string, unknown>,
  [key, source]: readonly [string, Source],
  how: { readonly to: string; readonly isNetwork: boolean },
): void {
  if (!source.isThere) return;
  into[key] = source.value;
  found.fields.push({ source, ...how });
}

/** `nodeSelector`, and a required affinity to one value, which says the same. */
function readSelectors(spec: Source, found: Found): void {
  const selector: Record<string, unknown> = { ...(found.spec['nodeSelector'] as object | undefined) };
  for (const [key, value] of spec.at('nodeSelector').entries())
    take(found, selector, [key, value], { to: 'nodeSelector', isNetwork: false });
  const affinity = spec.at('affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  const terms = affinity.at('nodeSelectorTerms').items();
  const expressions = terms.length === 1 ? (terms[0]?.at('matchExpressions').items() ?? []) : [];
  for (const expression of expressions) {
    const values = expression.at('values').items();
    const key = expression.at('key').text();
    if (expression.at('operator').value !== 'In' || values.length !== 1 || key === undefined) continue;
    selector[key] = values[0]?.value;
    found.fields.push({ source: expression, to: 'nodeSelector', isNetwork: false });
  }
  if (Object.keys(selector).length > 0) found.spec['nodeSelector'] = selector;
}

/** Rights that a device needs: capabilities, a privileged container. Users and groups belong to the image. */
function readSecurity(spec: Source, container: Source, found: Found): void {
  const own = container.at('securityContext');
  const adds = own.at('capabilities', 'add').items().length > 0;
  if (adds || own.at('privileged').value === true)
    take(found, found.trainer, ['securityContext', own], { to: 'securityContext', isNetwork: false });
  const groups = spec.at('securityContext');
  if (groups.at('fsGroup').isThere || groups.at('supplementalGroups').isThere)
    take(found, found.spec, ['securityContext', groups], { to: 'securityContext', isNetwork: false });
}

/** Directories of the node and ConfigMaps. Shared memory is there already, and claims are the job's. */
function readVolumes(spec: Source, container: Source, found: Found): void {
  const mounts = container.at('volumeMounts').items();
  const beside = [...found.lists.beside, ...found.lists.initContainers].flatMap((one) => mountNames(one));
  for (const volume of spec.at('volumes').items()) {
    const name = volume.at('name').text() ?? '';
    const used = mounts.filter((mount) => mount.at('name').text() === name);
    const isShared = used.some((mount) => mount.at('mountPath').text() === '/dev/shm');
    const kind = OF_A_RUNTIME.find((one) => volume.at(one).isThere);
    const isOfSidecar = beside.includes(name) && volume.at('emptyDir').isThere;
    // The job mounts the claim into the trainer, at a path and by a volume of its own.
    if (beside.includes(name) && volume.at('persistentVolumeClaim').isThere) {
      found.lists.volumes.push(volume.value);
      found.fields.push({ source: volume, to: 'volumes, for the containers beside the trainer', isNetwork: false });
    }
    if (isShared || (kind === undefined && !isOfSidecar)) continue;
    const isNetwork =
      IS_NETWORK.test(volume.at('hostPath', 'path').text() ?? '') || (isOfSidecar && IS_NETWORK.test(name));
    found.lists.volumes.push(volume.value);
    found.fields.push({ source: volume, to: 'volumes', isNetwork });
    for (const mount of used) {
      found.mounts.push(mount.value);
      found.fields.push({ source: mount, to: 'volumeMounts', isNetwork });
    }
  }
}

function mountNames(container: unknown): readonly string[] {
  const { volumeMounts } = (container ?? {}) as { volumeMounts?: unknown };
  if (!Array.isArray(volumeMounts)) return [];
  return volumeMounts.map((mount: unknown) => String((mount as { name?: unknown } | null)?.name ?? ''));
}

function readDevices(list: Source, found: Found): void {
  for (const [name, amount] of list.entries())
    if (!OF_THE_JOB.has(name))
      take(found, found.devices, [name, amount], { to: `resources.limits ${name}`, isNetwork: IS_NETWORK.test(name) });
}

function shippedFor({ devices, annotations, lists }: Found): ShippedRuntime | undefined {
  const names = lists.beside.concat(lists.initContainers).map((one) => JSON.stringify(one));
  return (
    SHIPPED_RUNTIMES.find(({ daemon }) => daemon !== undefined && names.some((name) => name.includes(daemon))) ??
    SHIPPED_RUNTIMES.find(({ device, count }) => device !== undefined && devices[device] === count) ??
    SHIPPED_RUNTIMES.find(({ device }) => device !== undefined && device in devices) ??
    SHIPPED_RUNTIMES.find(({ annotation }) => annotation !== undefined && annotation in annotations)
  );
}

/** Whether the runtime has every device, and the pod has nothing else that it lacks. */
function isHeldBy({ device, count, nodeSelector }: ShippedRuntime, found: Found): boolean {
  const { spec, lists, trainer, devices, annotations } = found;
  const { nodeSelector: wanted = {}, ...rest } = spec as { nodeSelector?: object };
  const isSelected = Object.entries(wanted).every(([key, value]) => nodeSelector?.[key] === value);
  return (
    device !== undefined &&
    Object.keys(devices).length === 1 &&
    Number(devices[device]) === count &&
    isSelected &&
    [rest, annotations, trainer].every((part) => Object.keys(part).length === 0) &&
    Object.values(lists).every((list) => list.length === 0)
  );
}

/** The runtime of a namespace if it may hold all of this, else one of the cluster. What neither may hold is left out and said. */
function writtenRuntime(
  { annotations, spec, lists, trainer, devices, mounts }: Found,
  { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
  report: ImportReport,
): WrittenRuntime {
  const { beside, ...others } = lists;
  const container = {
    name: CONTAINERS.trainer,
    ...trainer,
    ...(Object.keys(devices).length === 0 ? {} : { resources: { limits: devices } }),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
  };
  const given = Object.entries(others).filter(([, list]) => list.length > 0);
  const template = {
    ...(Object.keys(annotations).length === 0 ? {} : { metadata: { annotations } }),
    spec: { ...spec, ...Object.fromEntries(given), containers: [container, ...beside] },
  };
  const made = (kind: RuntimeKind): WrittenRuntime => ({
    apiVersion: API_GROUP_VERSION,
    kind,
    metadata: { name, ...(kind === 'TrainingRuntime' && namespace !== undefined ? { namespace } : {}) },
    spec: { description: 'What the pods of an imported job had beyond the job.', template },
  });
  const own = made('TrainingRuntime');
  if (problemOf(own) === undefined) return own;
  const cluster = made('ClusterTrainingRuntime');
  const problem = problemOf(cluster);
  if (problem !== undefined)
    report.add({
      outcome: 'changed',
      from: 'what the pods have beyond the job',
      to: `runtime ${name}`,
      why: problem,
      todo: 'correct the written runtime before it is applied',
    });
  return cluster;
}

function problemOf(runtime: WrittenRuntime): string | undefined {
  const { usable } = readRuntime(runtime as unknown as Parameters<typeof readRuntime>[0]);
  return usable.kind === 'refused' ? usable.message : undefined;
}
