/** Verifies what DeepSpeed's converter made of a save: each parameter of the model states has all of its state. */
import { readName } from '../formats/deepspeed/file-names.ts';
import { type ModelFile, readDeepspeed } from '../formats/deepspeed/read-save.ts';
import { readUniversalState, universalState, type UniversalState } from '../formats/deepspeed/read-universal.ts';
import type { Reading, StoredFile } from '../read/save-files.ts';
import { type SavedFacts, type SavedTensor, volumeOf } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { describeUnreadable, type Finding, type FindingKind, hasUnknownForm } from './finding.ts';
import type { Look, LookOptions } from './look.ts';
import { checkTorchFiles } from './torch-files.ts';

const COMMON = 'zero/optimizer_state.pt';
const MAX_LISTED = 8;

/** Looks at a universal save up to a level. */
export function* verifyUniversal(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const own = listed.filter(({ path }) => readName(path)?.kind === 'model' || path.startsWith('zero/'));
  const read = yield* readDeepspeed(own);
  const states = own.flatMap((file) => universalState(file) ?? []);
  const { tensors, findings: unreadable } = yield* readStates(states);
  const shapes = shapesOf(read.models);
  const damages = [...describeUnreadable(read.unreadable), ...unreadable];
  const findings = [
    ...damages,
    ...missingStates(shapes, states, listed),
    ...(isWhole(read.models) ? wrongSizes(shapes, tensors) : []),
  ];
  const state = {
    // The converter writes what its ranks do not divide, such as buffers, like the copies of parameters.
    tensors: [
      ...read.tensors,
      ...tensors.map((tensor) => (shapes.has(parameterOf(tensor)) ? tensor : { ...tensor, kind: 'other' as const })),
    ],
    objects: read.objects,
    facts: factsOf(read.models, states),
  };
  if (hasUnknownForm(damages)) return { state, findings: damages };
  if (findings.some(({ kind }) => kind === 'damaged' || kind === 'incomplete')) return { state, findings };
  return { state, findings: [...findings, ...(yield* checkTorchFiles(own, options))] };
}

function finding(kind: FindingKind, sentence: string): Finding {
  return { level: 'V1', kind, sentence };
}

function* readStates(
  states: readonly UniversalState[],
): Reading<{ readonly tensors: readonly SavedTensor[]; readonly findings: readonly Finding[] }> {
  const tensors: SavedTensor[] = [];
  const findings: Finding[] = [];
  for (const state of states) {
    try {
      tensors.push(yield* readUniversalState(state));
    } catch (error) {
      if (!(error instanceof UnreadableSave)) throw error;
      findings.push(...describeUnreadable([{ path: state.file.path, error }]));
    }
  }
  return { tensors, findings };
}

/** Of all ranks: each rank of a pipeline has its own parameters. */
function shapesOf(models: readonly ModelFile[]): ReadonlyMap<string, readonly number[]> {
  return new Map(models.flatMap(({ states }) => [...(states.shapes ?? [])]));
}

/** Tensor parallelism divides the shapes that model states say, and the converter joins the parts. */
function isWhole(models: readonly ModelFile[]): boolean {
  return models.every(({ states }) => (states.tensorRanks ?? states.modelRanks) === 1);
}

/** The states that any parameter has are those that each one has: the optimizer is one. */
function missingStates(
  shapes: ReadonlyMap<string, readonly number[]>,
  states: readonly UniversalState[],
  listed: readonly StoredFile[],
): readonly Finding[] {
  const there = new Set(listed.map(({ path }) => path));
  const wanted = new Set([
    'fp32',
    ...states.filter(({ parameter }) => shapes.has(parameter)).map(({ state }) => state),
  ]);
  const missing = [
    ...(there.has(COMMON) ? [] : [COMMON]),
    ...[...shapes.keys()]
      .flatMap((parameter) => [...wanted].map((state) => `zero/${parameter}/${state}.pt`))
      .filter((path) => !there.has(path)),
  ];
  const without = listed.some(({ path }) => readName(path)?.kind === 'model')
    ? []
    : [finding('incomplete', 'The save has no file of model states: the conversion was not finished.')];
  const more =
    missing.length > MAX_LISTED
      ? [finding('incomplete', `${String(missing.length - MAX_LISTED)} more files are not there.`)]
      : [];
  return [
    ...without,
    ...missing
      .slice(0, MAX_LISTED)
      .map((path) =>
        finding('incomplete', `File ${path} is not there: the conversion was not finished, or the file was lost.`),
      ),
    ...more,
  ];
}

function wrongSizes(
  shapes: ReadonlyMap<string, readonly number[]>,
  tensors: readonly SavedTensor[],
): readonly Finding[] {
  return tensors.flatMap(({ key, kind, shape, dtype }) => {
    const parameter = shapes.get(parameterOf({ key }));
    if (parameter === undefined || kind === 'other') return [];
    if (kind === 'master' && dtype !== 'float32')
      return [finding('damaged', `Tensor ${key} is ${dtype}, and the converter writes float32.`)];
    if (volumeOf(parameter) === volumeOf(shape)) return [];
    return [
      finding(
        'damaged',
        `Tensor ${key} has ${String(volumeOf(shape))} elements, and the model states say ${String(volumeOf(parameter))}.`,
      ),
    ];
  });
}

function parameterOf({ key }: Pick<SavedTensor, 'key'>): string {
  return key.slice(key.indexOf('.') + 1);
}

function factsOf([first]: readonly ModelFile[], states: readonly UniversalState[]): SavedFacts {
  const said = first?.states;
  return {
    ...(said?.step === undefined ? {} : { step: said.step }),
    ...(said?.release === undefined ? {} : { engineRelease: `deepspeed ${said.release}` }),
    optimizerSharding: 'universal',
    ...(said?.dataRanks === undefined || said.modelRanks === undefined
      ? {}
      : { worldSize: said.dataRanks * said.modelRanks }),
    holds: {
      optimizer: states.some(({ state }) => state !== 'fp32' && state !== 'step'),
      randomStates: said?.objects.some((key) => /rng|random_state/i.test(key)),
      dataLoader: said?.objects.includes('data_sampler'),
      scheduler: said?.objects.includes('lr_scheduler'),
    },
  };
}
