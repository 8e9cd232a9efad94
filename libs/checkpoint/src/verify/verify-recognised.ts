/** Describes saves of formats that are recognised by the names of their files alone. */
import type { RecognisedFormat } from '../formats/recognised/recognised.ts';
import type { Reading, StoredFile } from '../read/save-files.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { openTorchSave } from '../formats/torch-save/read-torch-save.ts';
import { countOf, valueAt } from '../formats/torch-save/pickled-state.ts';
import type { Finding, FindingKind } from './finding.ts';
import type { Look, LookOptions } from './look.ts';
import { checkTorchFiles } from './torch-files.ts';

const UNKNOWN = { optimizer: undefined, randomStates: undefined, dataLoader: undefined, scheduler: undefined } as const;

function finding(kind: FindingKind, sentence: string): Finding {
  return { level: 'V0', kind, sentence };
}

/** How saves of this format are described: each file is an object, and its content stays unverifiable. */
export function describerOf(format: RecognisedFormat): (listed: readonly StoredFile[]) => Reading<Look> {
  return function* describe(listed) {
    const { title, ranks, isOfEachRank, missing, step } = format.describe(new Set(listed.map(({ path }) => path)));
    const links = listed.filter(({ isLink }) => isLink === true);
    return {
      state: {
        tensors: [],
        objects: listed.map(({ path, bytes }) => ({ key: path, item: { file: path, offset: 0, length: bytes } })),
        facts: {
          ...(step === undefined ? {} : { step }),
          ...(ranks.length > 0 ? { worldSize: ranks.length } : {}),
          holds: UNKNOWN,
        },
      },
      findings: [
        ...missing.map((path) => finding('incomplete', `File ${path} is not there: the save was not finished.`)),
        ...(isOfEachRank === true ? missingRanks(ranks) : []),
        ...links.map(({ path }) => finding('damaged', `File ${path} is a link, which is not followed.`)),
        finding(
          'unverifiable',
          `The save is of ${title}: it is described by the names of its files, and nothing in them is read.`,
        ),
      ],
    };
  };
}

/** The first rank below the highest one that has no file. */
function missingRanks(ranks: readonly number[]): readonly Finding[] {
  const gap = ranks.findIndex((rank, index) => rank !== index);
  if (gap < 0) return [];
  return [finding('incomplete', `Rank ${String(gap)} has no file, and rank ${String(ranks.at(-1))} has one.`)];
}

const LEGACY_FILE = /^mp_rank_(\d{2,6})(?:_(\d{3}))?(?:_(\d{3}))?\/model_optim_rng\.pt$/;

/** Describes Megatron-LM's format of before `torch_dist`: one file of `torch.save` for each position in the grid of ranks. */
export function* describeMegatronLegacy(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const own = listed.filter(({ path }) => LEGACY_FILE.test(path));
  const steps = new Map<number, string>();
  const damages: Finding[] = [];
  for (const file of own) {
    try {
      const step = countOf(valueAt((yield* openTorchSave([file], file.path)).value, 'iteration'));
      if (step !== undefined && !steps.has(step)) steps.set(step, file.path);
    } catch (error) {
      if (!(error instanceof UnreadableSave)) throw error;
      damages.push({ level: 'V1', kind: 'damaged', sentence: `File ${file.path} ${error.message}.` });
    }
  }
  if (steps.size > 1) {
    const said = [...steps].map(([step, path]) => `${String(step)} (${path})`).slice(0, 8);
    damages.push({ level: 'V1', kind: 'damaged', sentence: `Files are of different steps: ${said.join(', ')}.` });
  }
  const [step] = steps.keys();
  const findings = [...missingPositions(own), ...damages];
  const objects = own.map(({ path, bytes }) => ({ key: path, item: { file: path, offset: 0, length: bytes } }));
  const state = { tensors: [], objects, facts: { ...(step === undefined ? {} : { step }), holds: UNKNOWN } };
  const unread: Finding = {
    level: 'V1',
    kind: 'unverifiable',
    sentence: 'The save is of Megatron-LM’s legacy format: its files are checked, and its tensors are not described.',
  };
  if (findings.length > 0) return { state, findings };
  return { state, findings: [...(yield* checkTorchFiles(own, options)), unread] };
}

/** Each rank of tensor, pipeline and expert parallelism that one file names has files with all ranks of the others. */
function missingPositions(own: readonly StoredFile[]): readonly Finding[] {
  const positions = own.map(({ path }) => (LEGACY_FILE.exec(path) ?? []).slice(1).map((rank) => Number(rank ?? 0)));
  const sizes = [0, 1, 2].map((dim) =>
    positions.reduce((most, position) => Math.max(most, (position[dim] ?? 0) + 1), 1),
  );
  const wanted = sizes.reduce((product, size) => product * size, 1);
  const there = new Set(positions.map((position) => position.join())).size;
  if (there === wanted) return [];
  return [
    finding(
      'incomplete',
      `${String(wanted - there)} of ${String(wanted)} positions in the grid of ranks (${sizes.join(' x ')}) have no file.`,
    ),
  ];
}
