import { CONTAINERS, type RuntimeSnapshot, type TrainingJobSpec } from '@coxswain/api-types';
import { type Json, list, record } from './json.ts';

/** The template of a runtime, divided into the parts that rules and pods read. */
export interface TemplateParts {
  readonly metadata: Json;
  readonly spec: Json;
  /** What the template adds to the trainer; empty if it has no trainer. */
  readonly trainer: Json;
  /** Containers beside it. */
  readonly beside: readonly Json[];
  readonly initContainers: readonly Json[];
}

/** Divides a template, or a pod, into its parts. */
export function templateParts(template: Json): TemplateParts {
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

/** The image of the trainer: that of the job, or else of its runtime; undefined if neither gives one. */
export function trainerImageOf(
  { engine }: Pick<TrainingJobSpec, 'engine'>,
  runtime: Pick<RuntimeSnapshot, 'template'> | undefined,
): string | undefined {
  if (engine.image !== undefined) return engine.image;
  const { image } = templateParts(runtime?.template ?? {}).trainer;
  return typeof image === 'string' ? image : undefined;
}

/** Devices that a container requests, by name. Kubernetes refuses a pod whose requests and limits of a device differ. */
export function requestedDevices(container: Json): Json {
  const { limits, requests } = record(container['resources']);
  return { ...record(limits), ...record(requests) };
}
