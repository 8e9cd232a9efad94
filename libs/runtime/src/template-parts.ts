import { CONTAINERS, type RuntimeSnapshot, type TrainingJobSpec } from '@coxswain/api-types';
import { type Json, list, record } from './json.ts';

/** A runtime's template by the parts that rules and pods ask for. */
export interface TemplateParts {
  readonly metadata: Json;
  readonly spec: Json;
  /** What is added to the trainer; empty where the template says nothing of it. */
  readonly trainer: Json;
  /** Containers beside it. */
  readonly beside: readonly Json[];
  readonly initContainers: readonly Json[];
}

export function partsOf(template: Json): TemplateParts {
  const spec = record(template['spec']);
  const containers = list(spec['containers']);
  return {
    metadata: record(template['metadata']),
    spec,
    trainer: record(containers.find(({ name }) => name === CONTAINERS.trainer)),
    beside: containers.filter(({ name }) => name !== CONTAINERS.trainer),
    initContainers: list(spec['initContainers']),
  };
}

/** The image of the trainer: the job's, else what its runtime gives; undefined where neither names one. */
export function trainerImageOf(
  { engine }: Pick<TrainingJobSpec, 'engine'>,
  runtime: Pick<RuntimeSnapshot, 'template'> | undefined,
): string | undefined {
  if (engine.image !== undefined) return engine.image;
  const { image } = partsOf(runtime?.template ?? {}).trainer;
  return typeof image === 'string' ? image : undefined;
}

/** Devices by name that a container asks for; where requests and limits differ, Kubernetes refuses the pod. */
export function devicesAskedBy(container: Json): Json {
  const { limits, requests } = record(container['resources']);
  return { ...record(limits), ...record(requests) };
}
