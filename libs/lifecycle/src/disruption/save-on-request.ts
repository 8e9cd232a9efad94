/** Can the ranks of a job save on request and train on? */
import type { EngineName } from '@coxswain/api-types';

/** Engines that cannot: they save by their own step count, and a signal makes them save and exit. */
const ENGINES_THAT_CANNOT: readonly EngineName[] = [
  'megatron-lm',
  'megatron-bridge',
  'torchtitan',
  'deepspeed',
  'hugging-face',
];

/** Whether ranks of that engine save on request and train on. */
export function canSaveOnRequest(engine: EngineName): boolean {
  return !ENGINES_THAT_CANNOT.includes(engine);
}
