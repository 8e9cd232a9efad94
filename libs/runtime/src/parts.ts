import { CONTAINERS } from '@coxswain/api-types';
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

/** The image that the template gives the trainer, if any. */
export function trainerImageOf(template: Json): string | undefined {
  const { image } = partsOf(template).trainer;
  return typeof image === 'string' ? image : undefined;
}

/** Devices by name that a container asks for; where requests and limits differ, Kubernetes refuses the pod. */
export function devicesAskedBy(container: Json): Json {
  const { limits, requests } = record(container['resources']);
  return { ...record(limits), ...record(requests) };
}

/** The image that a template gives the trainer of jobs that name none. */
export function imageOf(template: Json): string | undefined {
  const { image } = partsOf(template).trainer;
  return typeof image === 'string' ? image : undefined;
}
