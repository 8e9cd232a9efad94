/** Finds fields that a runtime must not set because the operator sets them. */
import { API_GROUP, CONTAINERS, GPU_RESOURCE, type NicEnvironment, POD_PATHS } from '@coxswain/api-types';
import { type Json, list, record } from './json.ts';
import { requestedDevices, templateParts } from './template-parts.ts';
import { normalizePath } from './normalize-path.ts';

/** A field as the runtime spells it, and why it is refused. */
export interface Problem {
  readonly field: string;
  readonly why: string;
}

const PLACES = 'the operator places pods; set spec.nodeSelector to choose nodes';
const ENDS = 'the operator decides when a gang ends and whether it restarts';
const SPEC_FIELDS: Readonly<Record<string, string>> = {
  restartPolicy: ENDS,
  activeDeadlineSeconds: ENDS,
  terminationGracePeriodSeconds: 'the job sets it in spec.terminationGracePeriodSeconds',
  schedulingGates: 'the operator gates the pods of a gang until all of them exist',
  nodeName: PLACES,
  affinity: PLACES,
  topologySpreadConstraints: PLACES,
  automountServiceAccountToken: 'it is always off; a projected volume gives a token of an audience',
  enableServiceLinks: 'it is always off',
  shareProcessNamespace: 'it is always on, so that orphaned processes of ranks are reaped',
  ephemeralContainers: 'they cannot be part of a new pod',
};

const LAUNCHER_STARTS = 'the launcher is started in the container, and starts the ranks that the job asks for';
const TRAINER_FIELDS: Readonly<Record<string, string>> = {
  command: LAUNCHER_STARTS,
  args: LAUNCHER_STARTS,
  stdin: LAUNCHER_STARTS,
  tty: LAUNCHER_STARTS,
  restartPolicy: ENDS,
  terminationMessagePath: 'the launcher reports there',
  terminationMessagePolicy: 'the launcher reports there',
};

const OUR_NAMES = 'coxswain-';
/** In most images `/var/run` is a link. */
const OUR_PATHS = [
  '/coxswain',
  POD_PATHS.tokenDirectory,
  POD_PATHS.tokenDirectory.replace('/var', ''),
  POD_PATHS.terminationMessage,
];
const OUR_VARIABLES = 'COXSWAIN_';

/** Every field of the template that the operator sets itself, or that would replace something of the operator. */
export function findOperatorFields(template: Json): readonly Problem[] {
  const { metadata, spec, trainer, beside, initContainers } = templateParts(template);
  return [
    ...Object.keys(template).flatMap((key) =>
      ['metadata', 'spec'].includes(key) ? [] : [{ field: key, why: 'a pod template has metadata and spec alone' }],
    ),
    ...Object.keys(metadata).flatMap((key) =>
      ['labels', 'annotations'].includes(key)
        ? []
        : [{ field: `metadata.${key}`, why: 'a runtime can set only labels and annotations in metadata' }],
    ),
    ...['labels', 'annotations'].flatMap((kind) =>
      Object.keys(record(metadata[kind])).flatMap((key) =>
        key.split('/')[0]?.endsWith(API_GROUP) === true
          ? [{ field: `metadata.${kind}.${key}`, why: `those of ${API_GROUP} are the operator's` }]
          : [],
      ),
    ),
    ...owned('spec', spec, SPEC_FIELDS),
    ...owned(`spec.containers[${CONTAINERS.trainer}]`, trainer, TRAINER_FIELDS),
    ...ownNames('volumes', spec),
    ...ownNames('resourceClaims', spec),
    ...[trainer, ...beside, ...initContainers].flatMap(ofContainer),
    ...repeatedContainers([...list(spec['containers']), ...initContainers]),
  ];
}

function owned(at: string, value: Json, fields: Readonly<Record<string, string>>): readonly Problem[] {
  return Object.keys(value).flatMap((key) =>
    Object.hasOwn(fields, key) ? [{ field: `${at}.${key}`, why: fields[key] ?? '' }] : [],
  );
}

function ownNames(kind: 'volumes' | 'resourceClaims', spec: Json): readonly Problem[] {
  return list(spec[kind]).flatMap(({ name }) =>
    typeof name === 'string' && name.startsWith(OUR_NAMES)
      ? [{ field: `spec.${kind}[${name}]`, why: `names that begin with "${OUR_NAMES}" are the operator's` }]
      : [],
  );
}

function ofContainer(container: Json): readonly Problem[] {
  if (Object.keys(container).length === 0) return [];
  const at = `container ${typeof container['name'] === 'string' ? container['name'] : '(without a name)'}`;
  const asked = requestedDevices(container);
  return [
    ...(GPU_RESOURCE in asked
      ? [{ field: `${at}: resources ${GPU_RESOURCE}`, why: 'a pod has one GPU for each of its ranks, as the job asks' }]
      : []),
    ...list(container['env']).flatMap(({ name }) =>
      typeof name === 'string' && name.startsWith(OUR_VARIABLES)
        ? [{ field: `${at}: env ${name}`, why: `names that begin with ${OUR_VARIABLES} are the operator's` }]
        : [],
    ),
    ...list(container['volumeMounts']).flatMap(({ name, mountPath }) =>
      isOurs(name, mountPath)
        ? [{ field: `${at}: volumeMounts ${String(mountPath)}`, why: 'volumes and paths of the operator are its own' }]
        : [],
    ),
    ...(container['name'] === CONTAINERS.install
      ? [{ field: at, why: 'the operator adds a container of that name, which installs the launcher' }]
      : []),
  ];
}

function isOurs(name: unknown, mountPath: unknown): boolean {
  const path = normalizePath(mountPath);
  return (
    (typeof name === 'string' && name.startsWith(OUR_NAMES)) ||
    OUR_PATHS.some((ours) => path === ours || path.startsWith(`${ours}/`))
  );
}

/** The API server refuses two containers of one name. Refusing them here blames the runtime and not the pod of a job. */
function repeatedContainers(containers: readonly Json[]): readonly Problem[] {
  const names = containers.map(({ name }) => name);
  const repeated = new Set(names.filter((name, position) => names.indexOf(name) !== position));
  return [...repeated].map((name) => ({
    field: `container ${String(name)}`,
    why: 'two containers have this name; give each its own',
  }));
}

/** NIC variables that the template, or another entry of the same class, sets too. */
export function findConflictingVariables(
  template: Json,
  environments: readonly NicEnvironment[] = [],
): readonly Problem[] {
  const { trainer } = templateParts(template);
  const always = new Set(list(trainer['env']).map(({ name }) => name));
  const classes = environments.map(({ nicClass }) => nicClass.toLowerCase());
  return environments.flatMap(({ nicClass, env }, position) => {
    const at = `nicEnvironments[${nicClass}]`;
    const names = env.map(({ name }) => name);
    return [
      ...(classes.indexOf(nicClass.toLowerCase()) < position
        ? [{ field: at, why: 'another entry has the same class' }]
        : []),
      ...names.flatMap((name, index) => {
        const field = `${at}: env ${name}`;
        if (always.has(name)) return [{ field, why: 'the trainer of the template sets it already' }];
        return names.indexOf(name) < index ? [{ field, why: 'it is listed twice' }] : [];
      }),
    ];
  });
}
