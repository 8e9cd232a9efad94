/** The fields of a pod template that a job can express. Later layers override earlier ones. */
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
  };
}

/** A pod's spec, by the container of that name; or by the only one. A patch need not have one. */
export function podView(pod: Source, name: string, kind: 'whole' | 'patch' = 'whole'): PodView {
  const containers = pod.at('containers').items();
  const named = containers.find((one) => one.at('name').text() === name);
  const container = named ?? (containers.length === 1 && kind === 'whole' ? containers[0] : undefined);
  if (container === undefined && kind === 'whole')
    throw new ImportError(
      `${pod.path}.containers has no container "${name}", which is the one that trains; call it so, or leave the others out.`,
    );
  return {
    ...containerView(container ?? ABSENT, container?.at('resources') ?? ABSENT),
    grace: pod.at('terminationGracePeriodSeconds'),
    volumes: pod.at('volumes').items(),
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
  };
}
