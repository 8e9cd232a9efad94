/** DeepSpeed's own format: `torch.save` files for positions in the grid of ranks, and `latest` next to the saves. */
import type { ParallelLayout } from '@coxswain/layout';
import type { CheckpointFormat, LoadAnswer, LoadQuestion } from '../checkpoint-format.ts';
import { DATA, EXPERT, PIPELINE, TENSOR } from '../degrees.ts';

const TAG = /^global_step(\d{1,15})$/;
const MODEL_STATES = /model_states\.pt$/;
const OPTIMIZER_STATES = /(?:^|\/)(?:bf16_|fp16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)_optim_states\.pt$/;

const UNIVERSAL = 'deepspeed-universal';

/**
 * Rank 0 writes `latest` after its own files, while other ranks can still be writing (DeepSpeedEngine.save_checkpoint has its barrier
 * after it). Each rank loads the file of its own position, and DeepSpeed refuses another data-parallel degree, unless the save was
 * converted to the universal format.
 */
export const DEEPSPEED = {
  names: ['deepspeed'],
  detect: (paths) => [...paths].some((path) => MODEL_STATES.test(path)),
  indexFile: undefined,
  describeMissing,
  saves: { format: 'deepspeed', folders: [''], directory: TAG, pointer: { file: 'latest', text: TAG } },
  loads,
  engines: [{ engine: 'deepspeed', does: ['save'] }],
} as const satisfies CheckpointFormat;

/** Whether DeepSpeed loads the universal format with this layout: what `ds_to_universal` makes of a save, for every layout. */
export function isUniversal({ checkpointPolicy }: ParallelLayout): boolean {
  return checkpointPolicy?.format === UNIVERSAL;
}

const CONVERTER = 'python -m deepspeed.checkpoint.ds_to_universal';
const GO_ON = 'go on with the layout that saved it';

/** A universal save goes with every layout that asks for one. Any other save goes with its own degrees alone. */
function loads({ changed: changedOf, optimizerSharding, wanted, hasUniversal }: LoadQuestion): LoadAnswer {
  const asksForUniversal = isUniversal(wanted);
  const changed = changedOf([TENSOR, PIPELINE, DATA, EXPERT]);
  if (optimizerSharding === 'universal')
    return asksForUniversal
      ? { changed: [], reason: 'each rank reads its part of each parameter' }
      : {
          problem: 'cannot',
          changed: [],
          reason: `it is converted: set layout.checkpointPolicy.format to ${UNIVERSAL}`,
        };
  if (asksForUniversal)
    return hasUniversal === true
      ? { changed: [], reason: 'DeepSpeed loads the universal checkpoint that was made from it' }
      : unconverted(optimizerSharding !== undefined || hasUniversal === false, hasUniversal === undefined);
  if (changed.length === 0) return { changed, reason: 'each rank reads the file of its position' };
  const reason =
    hasUniversal === true
      ? `a universal checkpoint was made from it: set layout.checkpointPolicy.format to ${UNIVERSAL}`
      : `${GO_ON}, or convert it and set layout.checkpointPolicy.format to ${UNIVERSAL}`;
  return { problem: hasUniversal === true ? 'cannot' : 'needs conversion', changed, reason, tool: CONVERTER };
}

/**
 * `isKnown`: files show that it is not converted. Without them, the layout’s word counts. `isStated`: a copy beside it was not looked
 * for, and can have been made since.
 */
function unconverted(isKnown: boolean, isStated: boolean): LoadAnswer {
  return isKnown
    ? {
        problem: 'needs conversion',
        changed: [],
        reason: `no universal checkpoint was made from it: convert it, or leave layout.checkpointPolicy.format ${UNIVERSAL} out`,
        tool: CONVERTER,
        isStated,
      }
    : {
        changed: [],
        reason: 'the layout states that it is converted',
        warnings: [`Nothing shows that ${CONVERTER} has run: without its result DeepSpeed loads nothing.`],
      };
}

/** With ZeRO each rank writes a file of its own. Without ZeRO the ranks of the first replica write everything. */
function describeMissing(paths: ReadonlySet<string>, worldSize: number): string | undefined {
  const all = [...paths];
  if (!all.some((path) => MODEL_STATES.test(path))) return 'it has no file of model states';
  const present = all.filter((path) => OPTIMIZER_STATES.test(path)).length;
  return present === 0 || present >= worldSize
    ? undefined
    : `it has optimizer states of ${present} ranks, and ${worldSize} train`;
}
