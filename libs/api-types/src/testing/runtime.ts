import { API_GROUP_VERSION } from '../names.ts';
import type { TrainingRuntime } from '../training-runtime.ts';

/** A runtime named `fabric` that adds what `template` says. */
export function aRuntime(
  template: Readonly<Record<string, unknown>> = {},
  more: {
    readonly kind?: TrainingRuntime['kind'];
    readonly name?: string;
    readonly spec?: Readonly<Record<string, unknown>>;
  } = {},
): TrainingRuntime {
  const { kind = 'ClusterTrainingRuntime', name = 'fabric', spec = {} } = more;
  return {
    apiVersion: API_GROUP_VERSION,
    kind,
    metadata: { name, uid: `uid-of-${name}`, generation: 1 },
    spec: { template, ...spec },
  };
}
