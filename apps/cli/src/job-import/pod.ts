/** The fields of a pod template that a job can express. Later layers override earlier ones. */
import { GPU_RESOURCE } from '@coxswain/api-types';
import { ImportError } from './import-error.ts';
import type { ImportReport } from './import-report.ts';
import { Source } from './source.ts';

/** Fields of a container and its pod, each with the path where it stands in the file. */
export interface PodView {
  readonly image: Source;
  readonly command: Source;
  readonly args: Source;
  readonly workingDir: Source;
  readonly resources: Source;
  readonly grace: Source;
  readonly env: readonly Source[];
  readonly volumes: readonly Source[];
  readonly mounts: readonly Source[];
  /** Where everything else of the pod stands, which only a runtime can hold. */
  readonly parts: readonly PodPart[];
}

/** One template of a pod. */
export interface PodPart {
  readonly spec: Source;
  readonly metadata: Source;
  /** The container that trains. */
  readonly container: Source;
}

const ABSENT = new Source(undefined);
const SINGLE = ['image', 'command', 'args', 'workingDir', 'resources', 'grace'] as const;

/** A container alone, as a TrainJob gives it. */
export function containerView(container: Source, resources: Source): PodView {
  return {
    image: container.at('image'),
    command: container.at('command'),
    args: container.at('args'),
    workingDir: container.at('workingDir'),
    resources,
    grace: ABSENT,
    env: container.at('env').items(),
    volumes: [],
    mounts: container.at('volumeMounts').items(),
    parts: [],
  };
}

/** A pod's spec, by the container of that name; or by the only one, or the only one with GPUs. A patch need not have one. */
export function podView(
  pod: Source,
  name: string,
  template: Source = ABSENT,
  kind: 'whole' | 'patch' = 'whole',
): PodView {
  const containers = pod.at('containers').items();
  const named = containers.find((one) => one.at('name').text() === name);
  const withGpus = containers.filter((one) => one.at('resources', 'limits', GPU_RESOURCE).isThere);
  const only = containers.length === 1 ? containers[0] : withGpus.length === 1 ? withGpus[0] : undefined;
  const container = named ?? (kind === 'whole' ? only : undefined);
  if (container === undefined && kind === 'whole')
    throw new ImportError(
      `${pod.path}.containers has no container "${name}", which is the one that trains; call it so, or leave the others out.`,
    );
  return {
    ...containerView(container ?? ABSENT, container?.at('resources') ?? ABSENT),
    grace: pod.at('terminationGracePeriodSeconds'),
    volumes: pod.at('volumes').items(),
    parts: [{ spec: pod, metadata: template.at('metadata'), container: container ?? ABSENT }],
  };
}

/** Both layers as one: single values of the upper one, lists of both. */
export function layered(lower: PodView, upper: PodView, report: ImportReport): PodView {
  const single = SINGLE.map((field) => {
    if (!upper[field].isThere) return [field, lower[field]];
    report.left(lower[field], { why: `${upper[field].path} goes before it` });
    return [field, upper[field]];
  });
  return {
    ...(Object.fromEntries(single) as Pick<PodView, (typeof SINGLE)[number]>),
    env: [...lower.env, ...upper.env],
    volumes: [...lower.volumes, ...upper.volumes],
    mounts: [...lower.mounts, ...upper.mounts],
    parts: [...lower.parts, ...upper.parts],
  };
}
