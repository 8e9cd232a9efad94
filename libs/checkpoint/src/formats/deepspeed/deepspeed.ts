/** DeepSpeed's own format: `torch.save` files for positions in the grid of ranks, and `latest` next to the saves. */
import type { ParallelLayout } from '@coxswain/layout';
import { MANIFEST_FILE } from '../manifest-file.ts';
import type { CheckpointFormat, LoadAnswer, LoadQuestion } from '../checkpoint-format.ts';
import { DATA, EXPERT, PIPELINE, TENSOR } from '../degrees.ts';
import { missingFiles, namesOf } from './file-names.ts';

const TAG = /^global_step(\d{1,15})$/;
const UNIVERSAL = 'deepspeed-universal';
const STATE_FILE = /^zero\/.+\.pt$/;

/** A folder of DeepSpeed's saves: these files name the newest save in it, as DeepSpeed saved it and as it was converted. */
export const LATEST = { native: 'latest', universal: 'latest_universal' } as const;

/**
 * Rank 0 writes `latest` after its own files, while other ranks can still be writing (DeepSpeedEngine.save_checkpoint has its barrier
 * after it). Each rank loads the file of its own position, and DeepSpeed refuses another data-parallel degree, unless the save was
 * converted to the universal format.
 */
export const DEEPSPEED = {
  names: ['deepspeed'],
  detect: (paths) => hasModelStates(paths) || isFolderOfSaves(paths),
  indexFile: undefined,
  describeMissing,
  saves: { format: 'deepspeed', folders: [''], directory: TAG, pointer: { file: LATEST.native, text: TAG } },
  halfWritten: {
    part: /^(?:mp_rank_\d+_model_states|(?:bf16_|fp16_)?zero_pp_rank_\d+_mp_rank_\d+_(?:model|optim)_states|layer_\d+(?:-model_\d+-model_states|_expert_\d+_mp_rank_\d+_model_states)|expp_rank_\d+_mp_rank_\d+_optim_states)\.pt$/,
    markers: [MANIFEST_FILE],
    own: /_states\.pt$/,
    // Without `save_latest` DeepSpeed writes no marker.
    proof: 'content',
  },
  loads,
  engines: [{ engine: 'deepspeed', does: ['save'] }],
} as const satisfies CheckpointFormat;

/** What `ds_to_universal` makes of a save: a folder for each parameter below `zero`, whole, and the model states as they were. */
export const DEEPSPEED_UNIVERSAL = {
  names: [UNIVERSAL],
  detect: (paths) => [...paths].some((path) => STATE_FILE.test(path)) && !isFolderOfSaves(paths),
  indexFile: undefined,
  // The job that trains does not write it, so the launcher never looks for it.
  describeMissing: () => undefined,
  loads: (question) => loads({ ...question, optimizerSharding: 'universal' }),
  alsoLoadedBy: ['deepspeed'],
  engines: [],
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
  if (hasUniversal === true) return { problem: 'cannot', changed, reason };
  // To divide tensors or stages anew takes rules of the model, which only its program knows.
  const isOfReplicas = changed.every(({ field }) => field === DATA.field);
  const isWhole = [TENSOR, PIPELINE, EXPERT].every(({ of }) => of(wanted) === 1);
  const converter = isOfReplicas && isWhole ? { converter: 'DeepSpeedUniversal' as const } : {};
  return { problem: 'needs conversion', changed, reason, tool: CONVERTER, ...converter };
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

function hasModelStates(paths: Iterable<string>): boolean {
  return namesOf(paths).some(({ kind }) => kind === 'model');
}

function isFolderOfSaves(paths: ReadonlySet<string>): boolean {
  if (!paths.has(LATEST.native) && !paths.has(LATEST.universal)) return false;
  return [...paths].some((path) => hasModelStates([path.slice(path.indexOf('/') + 1)]) && path.includes('/'));
}

/** With ZeRO each rank writes a file of its own. Without ZeRO the ranks of the first replica write everything. */
function describeMissing(paths: ReadonlySet<string>, worldSize: number): string | undefined {
  const names = namesOf(paths);
  const models = names.filter((name) => name.kind === 'model');
  if (models.length === 0) return 'it has no file of model states';
  const modelRanks = 1 + names.reduce((most, name) => Math.max(most, 'mp' in name ? name.mp : 0), 0);
  const hasZero = names.some(({ kind }) => kind === 'optimizer') || models.some(({ dp }) => dp !== undefined);
  const dataRanks = hasZero ? Math.max(1, Math.floor(worldSize / modelRanks)) : 0;
  const [missing] = missingFiles(paths, { modelRanks, dataRanks }, hasZero);
  return missing === undefined ? undefined : `it has no ${missing}`;
}
