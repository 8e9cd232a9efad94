/** Folders of Hugging Face's Trainer: weights in safetensors, with the state of optimizer, scheduler and random generators. */
import type { CheckpointFormat } from '../checkpoint-format.ts';
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
  fixedDegrees: () => ({ degrees: [WORLD], instead: 'go on with as many ranks as saved it' }),
  engines: [{ engine: 'hugging-face', does: ['save'] }],
} as const satisfies CheckpointFormat;

function randomStates(worldSize: number): readonly string[] {
  if (worldSize === 1) return ['rng_state.pth'];
  return Array.from({ length: worldSize }, (_, rank) => `rng_state_${rank}.pth`);
}
