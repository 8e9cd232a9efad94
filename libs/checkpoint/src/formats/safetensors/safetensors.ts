/** safetensors as Hugging Face publishes weights: one file, or several with an index. */
import type { CheckpointFormat } from '../checkpoint-format.ts';
import { firstMissing } from '../describe-missing.ts';

const WEIGHTS_FILE = 'model.safetensors';
/** Names the file of each tensor. */
export const INDEX_FILE = 'model.safetensors.index.json';

/** Weights alone: a job can start from them, and cannot resume from them. */
export const SAFETENSORS = {
  names: ['safetensors'],
  detect: (paths) => paths.has(INDEX_FILE) || paths.has(WEIGHTS_FILE),
  indexFile: INDEX_FILE,
  describeMissing: (paths) => firstMissing(paths, paths.has(INDEX_FILE) ? [] : [WEIGHTS_FILE]),
  loads: () => ({
    changed: [],
    reason: 'each rank reads its part of the weights',
    warnings: ['It holds weights alone: the optimizer, the step and the position in the data start anew.'],
  }),
  weights: 'safetensors',
  // Their programs load a published model by `from_pretrained`; Coxswain sets no option for it.
  alsoLoadedBy: ['hugging-face', 'deepspeed'],
  engines: [{ engine: 'torchtitan', does: ['start'] }],
} as const satisfies CheckpointFormat;
