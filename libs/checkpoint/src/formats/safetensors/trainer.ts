/** Folders of Hugging Face's Trainer: weights in safetensors, with the state of optimizer, scheduler and random generators. */
import type { CheckpointFormat } from '../checkpoint-format.ts';
import { MANIFEST_FILE } from '../manifest-file.ts';
import { WORLD } from '../degrees.ts';
import { firstMissing } from '../describe-missing.ts';

/** Written last by rank 0; says the step. */
export const STATE_FILE = 'trainer_state.json';

/**
 * Rank 0 writes `trainer_state.json` last, but no barrier follows the random states of the other ranks (Trainer._save_checkpoint).
 * Random states are stored by rank number, so as many ranks must load as saved.
 */
export const TRAINER = {
  names: ['hugging-face'],
  detect: (paths) => paths.has(STATE_FILE),
  indexFile: undefined,
  describeMissing: (paths, worldSize) => firstMissing(paths, [STATE_FILE, ...randomStates(worldSize)]),
  jsonFiles: [STATE_FILE],
  saves: { format: 'hugging-face', folders: [''], directory: /^checkpoint-(\d{1,15})$/ },
  halfWritten: {
    part: /^(?:(?:model|adapter_model|pytorch_model)(?:-\d+-of-\d+)?\.(?:safetensors|bin)|(?:model|pytorch_model)\.(?:safetensors|bin)\.index\.json|(?:config|generation_config|adapter_config|tokenizer|tokenizer_config|special_tokens_map|vocab|added_tokens)\.json|tokenizer\.model|merges\.txt|chat_template\.(?:jinja|json)|training_args\.bin|optimizer\.(?:pt|bin)|scheduler\.pt|scaler\.pt|rng_state(?:_\d+)?\.pth)$/,
    markers: [STATE_FILE, MANIFEST_FILE],
    own: /^(?:config\.json|adapter_config\.json|training_args\.bin|optimizer\.(?:pt|bin)|rng_state(?:_\d+)?\.pth)$/,
    // A program may save a model into a folder of this name by itself. It writes no state of an optimizer.
    proof: 'content',
    compared: /^(?:optimizer\.(?:pt|bin)|scheduler\.pt|rng_state(?:_\d+)?\.pth)$/,
  },
  loads: ({ changed: changedOf }) => {
    const changed = changedOf([WORLD]);
    return changed.length === 0
      ? { changed, reason: 'each rank finds its random states' }
      : { problem: 'cannot', changed, reason: 'go on with as many ranks as saved it' };
  },
  engines: [{ engine: 'hugging-face', does: ['save'] }],
} as const satisfies CheckpointFormat;

function randomStates(worldSize: number): readonly string[] {
  if (worldSize === 1) return ['rng_state.pth'];
  return Array.from({ length: worldSize }, (_, rank) => `rng_state_${rank}.pth`);
}
