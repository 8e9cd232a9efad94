import { type RuntimeSnapshot, sourcedCommand } from '@coxswain/api-types';
import { withChannel } from './compute-domain.ts';
import { type Json, list, record } from './json.ts';
import { templateParts } from './template-parts.ts';
import { normalizePath } from './normalize-path.ts';

/**
 * Merges a pod with its runtime. Values of the operator win: lists are joined with the operator’s entries first, and requested amounts and names
 * stay. An administrator’s security fields override those of the operator, because a device can need more. With a namespace’s runtime every container
 * has the operator’s. If the runtime mounts something at a path that the operator only reserves (`/dev/shm`), its mount is used. `gang` names the
 * ComputeDomain, if the runtime needs one. `nicClass` is the NIC class of the pod’s node, in lower case.
 */
export function podWithRuntime(
  pod: Json,
  runtime: Pick<RuntimeSnapshot, 'kind' | 'template' | 'sourceScript' | 'computeDomain' | 'nicEnvironments'>,
  { gang, nicClass }: { readonly gang: string; readonly nicClass?: string | undefined },
): Json {
  const joined = withTemplate(pod, runtime, variablesFor(runtime, nicClass));
  return runtime.computeDomain === undefined ? joined : withChannel(joined, gang);
}

/** Variables for nodes with this class of NICs, in any spelling of upper and lower case. */
function variablesFor(
  { nicEnvironments = [] }: Pick<RuntimeSnapshot, 'nicEnvironments'>,
  nicClass = '',
): readonly Json[] {
  return nicEnvironments.find((one) => one.nicClass.toLowerCase() === nicClass)?.env ?? [];
}

function withTemplate(
  pod: Json,
  { kind, template, sourceScript }: Pick<RuntimeSnapshot, 'kind' | 'template' | 'sourceScript'>,
  variables: readonly Json[],
): Json {
  const { metadata, spec, trainer: added, beside, initContainers } = templateParts(template);
  const ours = templateParts(pod);
  const secured = securityOf(kind);
  const trainer: Json = {
    ...trainerWith(ours.trainer, { ...added, env: [...list(added['env']), ...variables] }, sourceScript),
    securityContext: secured(ours.trainer['securityContext'], added['securityContext']),
  };
  const asTrainer = (container: Json): Json =>
    kind === 'ClusterTrainingRuntime'
      ? container
      : { ...container, securityContext: secured(ours.trainer['securityContext'], container['securityContext']) };
  const { containers: _ours, ...rest } = ours.spec;
  const { containers: _theirs, ...others } = spec;
  const mounted = new Set(list(trainer['volumeMounts']).map(({ name }) => name));
  const isUsed = ({ name }: Json): boolean =>
    mounted.has(name) || !list(ours.trainer['volumeMounts']).some((mount) => mount['name'] === name);
  return {
    ...pod,
    metadata: {
      ...ours.metadata,
      labels: { ...record(metadata['labels']), ...record(ours.metadata['labels']) },
      annotations: { ...record(metadata['annotations']), ...record(ours.metadata['annotations']) },
    },
    spec: {
      ...others,
      ...rest,
      tolerations: [...list(rest['tolerations']), ...list(spec['tolerations'])],
      securityContext: secured(rest['securityContext'], spec['securityContext']),
      initContainers: [...ours.initContainers, ...initContainers.map(asTrainer)],
      containers: [trainer, ...ours.beside, ...beside.map(asTrainer)],
      volumes: [...list(rest['volumes']).filter(isUsed), ...list(spec['volumes'])],
    },
  };
}

/** A field that is null, or a shorter list of what is dropped, takes something away: that is for administrators. */
function securityOf(kind: RuntimeSnapshot['kind']): (ours: unknown, theirs: unknown) => Json {
  return kind === 'ClusterTrainingRuntime'
    ? (ours, theirs) => ({ ...record(ours), ...record(theirs) })
    : (ours, theirs) => ({ ...record(theirs), ...record(ours) });
}

function trainerWith(ours: Json, added: Json, sourceScript: string | undefined): Json {
  const { name: _name, env, envFrom, resources, securityContext: _context, volumeMounts, ...others } = added;
  const theirs = list(volumeMounts);
  const theirPaths = new Set(theirs.map(({ mountPath }) => normalizePath(mountPath)));
  const variables = list(env);
  const set = new Set(variables.map((variable) => variable['name']));
  return {
    ...others,
    ...ours,
    ...(ours['image'] === undefined ? { image: others['image'] } : {}),
    ...(sourceScript === undefined ? {} : { command: sourced(ours['command'], sourceScript) }),
    env: [...variables, ...list(ours['env']).filter((variable) => !set.has(variable['name']))],
    ...(envFrom === undefined ? {} : { envFrom }),
    resources: { ...record(resources), ...amounts(record(ours['resources']), record(resources)) },
    volumeMounts: [
      ...list(ours['volumeMounts']).filter(({ mountPath }) => !theirPaths.has(normalizePath(mountPath))),
      ...theirs,
    ],
  };
}

function amounts(ours: Json, theirs: Json): Json {
  const joined = (kind: 'limits' | 'requests'): Json => ({ ...record(theirs[kind]), ...record(ours[kind]) });
  return { limits: joined('limits'), requests: joined('requests') };
}

/** The arguments behind the launcher’s own are the program of a rank. */
const BEFORE_PROGRAM = '--';
function sourced(command: unknown, script: string): readonly unknown[] {
  const words: readonly unknown[] = Array.isArray(command) ? command : [];
  const program = words.indexOf(BEFORE_PROGRAM) + 1;
  // The kubelet halves `$$`.
  const before = sourcedCommand(script, []).map((word) => word.replaceAll('$', '$$$$'));
  return [...words.slice(0, program), ...before, ...words.slice(program)];
}
