/** Verifies saves of DeepSpeed: the files of all ranks are there, are of one step, and hold all parameters. */
import { LATEST } from '../formats/deepspeed/deepspeed.ts';
import { joinDividedState } from '../formats/deepspeed/divided-state.ts';
import { type Grid, missingFiles, namesOf, readName, strayFiles } from '../formats/deepspeed/file-names.ts';
import { type DeepspeedFiles, readDeepspeed } from '../formats/deepspeed/read-save.ts';
import { readBytes, type Reading, type StoredFile } from '../read/save-files.ts';
import type { SavedFacts, SavedState } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { allComparisons, describeCoverage } from './coverage.ts';
import { describeUnreadable, type Finding, type FindingKind, hasUnknownForm, type Level } from './finding.ts';
import type { Look, LookOptions } from './look.ts';
import { checkTorchFiles } from './torch-files.ts';
import { verifyUniversal } from './verify-universal.ts';
import { lookWithin } from './within-folder.ts';

/** Findings of one kind that are listed one by one. */
const MAX_LISTED = 8;

/** Looks at a save of DeepSpeed up to a level, or at the one that `latest` names in a folder of saves. */
export function* verifyDeepspeed(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const pointer =
    listed.find(({ path }) => path === LATEST.native) ?? listed.find(({ path }) => path === LATEST.universal);
  const isFolder =
    pointer !== undefined && !namesOf(listed.map(({ path }) => path)).some(({ kind }) => kind === 'model');
  return yield* isFolder ? verifyNewest(pointer, listed, options) : verifyTag(listed, options);
}

/** A tag of a save, as DeepSpeed writes it into `latest`. */
const MAX_TAG = 1024;

function* verifyNewest(pointer: StoredFile, listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const isRead = pointer.isLink !== true && pointer.bytes <= MAX_TAG;
  const tag = isRead ? new TextDecoder().decode(yield* readBytes(pointer.path, 0, pointer.bytes)).trim() : '';
  if (!listed.some(({ path }) => path.startsWith(`${tag}/`))) {
    const sentence = `File ${pointer.path} names ${JSON.stringify(tag)}, and no save of this name is there.`;
    return { state: undefined, findings: [finding('incomplete', sentence, 'V0')] };
  }
  const verify = pointer.path === LATEST.universal ? verifyUniversal : verifyTag;
  return yield* lookWithin(tag, listed, (files) => verify(files, options));
}

function* verifyTag(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const own = listed.filter(({ path }) => readName(path) !== undefined);
  const all = yield* readDeepspeed(own);
  const paths = own.map(({ path }) => path);
  const grid = gridOf(all, paths);
  const read = withoutStrays(all, grid);
  const hasZero = read.models.some(({ states }) => states.shapes !== undefined) || read.optimizers.length > 0;
  const divided = yield* joinDividedState(read, grid.dataRanks);
  const state = {
    tensors: [...read.tensors, ...divided.tensors],
    objects: read.objects,
    facts: factsOf(read, grid, hasZero),
  };
  const damages = describeUnreadable([...read.unreadable, ...divided.unreadable]);
  if (hasUnknownForm(damages)) return { state, findings: damages };
  const findings = [
    ...damages,
    ...incomplete(read, paths, grid, hasZero),
    ...strays(paths, grid),
    ...checkSteps(read),
    ...checkPartitions(read, paths, grid),
    ...grouped(read),
  ];
  if (isBroken(findings)) return { state, findings };
  const structure = [...(yield* checkOptimizerSteps(read)), ...checkCoverage(state, paths)];
  if (isBroken(structure)) return { state, findings: [...findings, ...structure] };
  return { state, findings: [...findings, ...structure, ...(yield* checkTorchFiles(own, options))] };
}

function finding(kind: FindingKind, sentence: string, level: Level = 'V1'): Finding {
  return { level, kind, sentence };
}

function isBroken(findings: readonly Finding[]): boolean {
  return findings.some(({ kind }) => kind === 'damaged' || kind === 'incomplete');
}

/** What the files say; names alone if no file says it. */
function gridOf({ models, optimizers }: DeepspeedFiles, paths: readonly string[]): Grid {
  const named = namesOf(paths);
  const largest = (ranks: readonly (number | undefined)[]): number =>
    ranks.reduce<number>((most, rank) => Math.max(most, rank ?? 0), 0);
  const partitions = optimizers.flatMap(({ states }) => states.partitions);
  return {
    dataRanks:
      largest([...models.map(({ states }) => states.dataRanks), ...(models.length > 0 ? [] : partitions)]) ||
      largest(named.map((name) => ('dp' in name ? (name.dp ?? 0) + 1 : 1))) ||
      1,
    modelRanks:
      largest(models.map(({ states }) => states.modelRanks)) ||
      largest(named.map((name) => ('mp' in name ? name.mp + 1 : 1))) ||
      1,
  };
}

function factsOf(
  { models, optimizers, tensors }: DeepspeedFiles,
  { dataRanks, modelRanks }: Grid,
  hasZero: boolean,
): SavedFacts {
  const [first] = models.toSorted((one, other) => one.mp - other.mp || one.dp - other.dp);
  const states = first?.states;
  const stage =
    optimizers.find((file) => file.states.stage !== undefined)?.states.stage ?? (optimizers.length > 0 ? 1 : undefined);
  const release = states?.release ?? optimizers[0]?.states.release;
  const pipeline = states?.pipelineRanks ?? (tensors.some(({ key }) => key.startsWith('layer_')) ? undefined : 1);
  const tensorRanks = states?.tensorRanks ?? (pipeline === undefined ? undefined : modelRanks / pipeline);
  const has = (key: string): boolean => states?.objects.includes(key) === true;
  return {
    ...(states?.step === undefined ? {} : { step: states.step }),
    ...(release === undefined ? {} : { engineRelease: `deepspeed ${release}` }),
    ...(stage === undefined ? {} : { optimizerSharding: `zero${String(stage)}` }),
    ...(states === undefined ? {} : { worldSize: dataRanks * modelRanks }),
    degrees: {
      dataParallelDegree: dataRanks,
      ...(tensorRanks === undefined ? {} : { tensorParallelDegree: tensorRanks }),
      ...(pipeline === undefined ? {} : { pipelineParallelDegree: pipeline }),
    },
    holds: {
      optimizer: hasZero ? optimizers.length > 0 : states?.hasOptimizer,
      // DeepSpeed saves none. A program can add its own under any name.
      randomStates: states?.objects.some((key) => /rng|random_state/i.test(key)),
      dataLoader: states === undefined ? undefined : has('data_sampler'),
      scheduler: states === undefined ? undefined : has('lr_scheduler'),
    },
  };
}

function incomplete(
  { models, unreadable }: DeepspeedFiles,
  paths: readonly string[],
  grid: Grid,
  hasZero: boolean,
): readonly Finding[] {
  const names = namesOf(paths);
  if (!names.some(({ kind }) => kind === 'model'))
    return [finding('incomplete', 'The save has no file of model states.', 'V0')];
  // Nothing that was read says how many ranks saved.
  if (models.length === 0 && unreadable.length > 0) return [];
  const missing = missingFiles(paths, grid, hasZero);
  const saved = `${String(grid.dataRanks)} ranks of data parallelism and ${String(grid.modelRanks)} of the model saved`;
  const more =
    missing.length > MAX_LISTED
      ? [finding('incomplete', `${String(missing.length - MAX_LISTED)} more files are not there.`)]
      : [];
  return [
    ...missing.slice(0, MAX_LISTED).map((path) => finding('incomplete', `File ${path} is not there; ${saved}.`)),
    ...more,
    ...missingExperts(models, paths),
    ...missingLayers(models, paths),
  ];
}

/** A pipeline saves a file for each layer, and numbers the parameters by layer. A layer that is a function has no file. */
function missingLayers(models: DeepspeedFiles['models'], paths: readonly string[]): readonly Finding[] {
  const layers = new Set(namesOf(paths).flatMap((name) => (name.kind === 'layer' ? [name.layer] : [])));
  if (layers.size === 0) return [];
  const named = models.flatMap(({ states }) =>
    [...(states.shapes?.keys() ?? [])].flatMap((key) => /^(\d{1,6})\./.exec(key)?.[1] ?? []),
  );
  const missing = [...new Set(named.map(Number))].filter((layer) => !layers.has(layer));
  return missing
    .slice(0, MAX_LISTED)
    .map((layer) => finding('incomplete', `Layer ${String(layer)} has no file, and its parameters are trained.`));
}

/** Each layer with experts has the same ones. */
function missingExperts(models: DeepspeedFiles['models'], paths: readonly string[]): readonly Finding[] {
  const experts = namesOf(paths).filter((name) => name.kind === 'expert');
  const counts = new Set(models.flatMap(({ states }) => states.experts));
  // Layers with different numbers of experts cannot be distinguished: their names count them from 0 on.
  const said = counts.size === 1 ? ([...counts][0] ?? 0) : 0;
  const count = experts.reduce((most, { expert }) => Math.max(most, expert + 1), said);
  const layers = Map.groupBy(experts, ({ layer, mp }) => `${String(layer)} of model rank ${String(mp)}`);
  return [...layers].flatMap(([layer, found]) => {
    const there = new Set(found.map(({ expert }) => expert)).size;
    if (there === count || counts.size > 1) return [];
    return [finding('incomplete', `Layer ${layer} has files of ${String(there)} of ${String(count)} experts.`)];
  });
}

/** DeepSpeed loads the files of the ranks that saved, and leaves others where they are. */
function withoutStrays(read: DeepspeedFiles, { dataRanks, modelRanks }: Grid): DeepspeedFiles {
  const isOfGrid = ({ dp, mp }: { readonly dp: number; readonly mp: number }): boolean =>
    dp < dataRanks && mp < modelRanks;
  return { ...read, models: read.models.filter(isOfGrid), optimizers: read.optimizers.filter(isOfGrid) };
}

function strays(paths: readonly string[], grid: Grid): readonly Finding[] {
  const stray = strayFiles(paths, grid);
  const [first] = stray;
  if (first === undefined) return [];
  const sentence = `${String(stray.length)} files, such as ${first}, are of ranks that this save does not have: two saves can be mixed here.`;
  return [finding('suspect', sentence)];
}

/** All files of model states are of one step and one layout. */
function checkSteps({ models }: DeepspeedFiles): readonly Finding[] {
  return (['step', 'release', 'dataRanks', 'modelRanks'] as const).flatMap((fact) => {
    const values = Map.groupBy(models, ({ states }) => states[fact]);
    if (values.size < 2) return [];
    const said = [...values].map(([value, files]) => `${String(value)} (${files[0]?.path ?? ''})`).slice(0, MAX_LISTED);
    return [finding('damaged', `Files of model states disagree on ${FACT_NAMES[fact]}: ${said.join(', ')}.`)];
  });
}

const FACT_NAMES = {
  step: 'the step',
  release: 'the release of DeepSpeed',
  dataRanks: 'the ranks of data parallelism',
  modelRanks: 'the ranks of the model',
} as const;

function grouped({ optimizers }: DeepspeedFiles): readonly Finding[] {
  if (!optimizers.some(({ states }) => states.isGrouped)) return [];
  return [
    finding(
      'unverifiable',
      'Ranks divide parameters within groups of ranks: whether all parts are there is not checked.',
    ),
  ];
}

/** In stages 1 and 2 all ranks of data parallelism share the state; experts are shared by fewer, and stage 3 can divide within a group of nodes. */
function checkPartitions(
  { optimizers }: DeepspeedFiles,
  paths: readonly string[],
  { dataRanks }: Grid,
): readonly Finding[] {
  if (hasExperts(paths)) return [];
  return optimizers
    .flatMap(({ path, states }) => {
      const other = states.partitions.find((count) => count !== dataRanks);
      if (other === undefined || states.stage === 3) return [];
      return [
        finding(
          'damaged',
          `File ${path} is one of ${String(other)} parts, and ${String(dataRanks)} ranks of data parallelism saved.`,
        ),
      ];
    })
    .slice(0, MAX_LISTED);
}

function hasExperts(paths: readonly string[]): boolean {
  return namesOf(paths).some(({ kind }) => kind === 'expert' || kind === 'expert-optimizer');
}

/** The optimizer counts its steps on each rank: four bytes a rank show that all files are of one save. */
function* checkOptimizerSteps({ optimizers, models }: DeepspeedFiles): Reading<readonly Finding[]> {
  const steps = new Map<number, string>();
  for (const { path, states, places } of optimizers) {
    // Groups of parameters can have optimizers of their own; the first one of each rank is the same group.
    const step = states.groups.find((group) => group.step !== undefined)?.step;
    if (step === undefined) continue;
    try {
      const count = typeof step === 'number' ? step : yield* places.scalarOf(step, 'step');
      if (count !== undefined && !steps.has(count)) steps.set(count, path);
    } catch (error) {
      if (!(error instanceof UnreadableSave)) throw error;
      return describeUnreadable([{ path, error }]);
    }
  }
  if (steps.size > 1) {
    const said = [...steps].map(([step, path]) => `${String(step)} (${path})`).slice(0, MAX_LISTED);
    return [finding('damaged', `Files of optimizer states are of different steps: ${said.join(', ')}.`)];
  }
  const [only] = steps.keys();
  const [model] = models;
  if (only === undefined || model?.states.step === undefined || only === model.states.step - model.states.skippedSteps)
    return [];
  const sentence = `The optimizer made ${String(only)} steps and the model ${String(model.states.step)}, ${String(model.states.skippedSteps)} of them skipped: two saves can be mixed here.`;
  return [finding('suspect', sentence)];
}

function checkCoverage({ tensors }: SavedState, paths: readonly string[]): readonly Finding[] {
  const comparisons = allComparisons();
  const gaps = tensors.flatMap((tensor) => {
    const end = describeCoverage(tensor, comparisons);
    return end === undefined ? [] : [finding('damaged', `Tensor ${tensor.key} ${end}.`)];
  });
  const unknown = 'Whether the optimizer has all parts of experts is not checked: ranks number them from 0 on.';
  return hasExperts(paths) ? [...gaps, finding('unverifiable', unknown)] : gaps;
}
