import type { EngineName, EngineRun } from '@coxswain/api-types';
import { savedFormat } from '@coxswain/checkpoint';

/** What a launcher must know to find the checkpoints of an engine; empty if the engine reports its checkpoints itself. */
export function savedCheckpoints(engine: EngineName): Pick<EngineRun, 'checkpoints'> {
  const checkpoints = savedFormat(engine);
  return checkpoints === undefined ? {} : { checkpoints };
}
