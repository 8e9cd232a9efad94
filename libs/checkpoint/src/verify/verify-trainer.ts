/** Verifies folders of Hugging Face's Trainer: weights, and what it needs to go on, which its loaders leave out without a word if it is not there. */
import { z } from 'zod';
import { LATEST } from '../formats/deepspeed/deepspeed.ts';
import { STATE_FILE } from '../formats/safetensors/trainer.ts';
import { SAFETENSORS } from '../formats/safetensors/safetensors.ts';
import { parseJson, parsePythonJson } from '../read/parse-json.ts';
import { readBytes, type Reading, type StoredFile } from '../read/save-files.ts';
import type { SavedFacts, SavedTensor } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { describeUnreadable, type Finding, type FindingKind, type Level } from './finding.ts';
import type { Look, LookOptions } from './look.ts';
import { checkTorchFiles } from './torch-files.ts';
import { readTrainerFiles } from './trainer-files.ts';
import { verifyDcp } from './verify-dcp.ts';
import { verifyDeepspeed } from './verify-deepspeed.ts';
import { verifySafetensors } from './verify-safetensors.ts';
import { lookWithin } from './within-folder.ts';

const MAX_JSON = 100_000_000;
const State = z.looseObject({ global_step: z.int().min(0) });
const Config = z.looseObject({ transformers_version: z.string().max(64) });

const RANDOM_STATES = /^rng_state(?:_(\d{1,6}))?\.pth$/;
const OPTIMIZER = /^(?:optimizer\.(?:pt|bin)|optimizer_0\/.*)$/;
const TORCH_FILE =
  /^(?:optimizer\.(?:pt|bin)|scheduler\.pt|scaler\.pt|rng_state(?:_\d{1,6})?\.pth|pytorch_model[^/]*\.bin)$/;
/** Weights have many names: adapters can lie in a folder of their own, and programs override how the Trainer saves a model. */
const CAN_BE_WEIGHTS = /\.(?:safetensors|bin|pt|pth|ckpt|h5|msgpack|distcp|npz|gguf)$/;
/** Files of such names that hold no weights. */
const NO_WEIGHTS = /^(?:(?:optimizer|scheduler|scaler|training_args|rng_state(?:_\d{1,6})?)\.\w+|optimizer_0\/.*)$/;
/** Folders of FSDP's sharded state, each a save of DCP (Accelerate, `save_fsdp_model`). */
const DCP_FOLDERS = ['pytorch_model_fsdp_0', 'optimizer_0'];

/** Looks at a folder of the Trainer up to a level. */
export function* verifyTrainer(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  if (!listed.some(({ path }) => path === STATE_FILE))
    return {
      state: undefined,
      findings: [finding('incomplete', `The save has no ${STATE_FILE}: it was not finished.`, 'V0')],
    };
  const step = yield* readJson(listed, STATE_FILE, State);
  const config = yield* readJson(listed, 'config.json', Config);
  const torchFiles = listed.filter(({ path }) => TORCH_FILE.test(path));
  const read = yield* readTrainerFiles(torchFiles);
  const parts = yield* lookAtParts(listed, options);
  const findings = [
    ...(step === undefined ? [finding('damaged', `File ${STATE_FILE} does not say the step.`)] : []),
    ...describeUnreadable(read.unreadable),
    ...missingParts(listed),
    ...otherStep(step?.global_step, read.optimizerStep),
    ...parts.flatMap((part) => part.findings),
  ];
  const tensors: readonly SavedTensor[] = [...parts.flatMap(({ state }) => state?.tensors ?? []), ...read.tensors];
  const state = {
    tensors,
    objects: [...parts.flatMap((part) => part.state?.objects ?? []), ...read.objects],
    facts: factsOf(listed, step?.global_step, config?.transformers_version, parts),
  };
  if (findings.some(({ kind }) => kind === 'damaged' || kind === 'incomplete')) return { state, findings };
  return { state, findings: [...findings, ...(yield* checkTorchFiles(torchFiles, options))] };
}

function finding(kind: FindingKind, sentence: string, level: Level = 'V1'): Finding {
  return { level, kind, sentence };
}

/** The Trainer steps once a step; a loss scale that overflows skips some. */
function otherStep(step: number | undefined, optimizerStep: number | undefined): readonly Finding[] {
  if (step === undefined || optimizerStep === undefined || step === optimizerStep) return [];
  const sentence = `The optimizer made ${String(optimizerStep)} steps, and ${STATE_FILE} says ${String(step)}: two saves can be mixed here.`;
  return [finding('suspect', sentence)];
}

/** undefined: the file is not there, or is something else. */
function* readJson<Found>(
  listed: readonly StoredFile[],
  path: string,
  schema: z.ZodType<Found>,
): Reading<Found | undefined> {
  const file = listed.find((each) => each.path === path);
  if (file === undefined || file.isLink === true || file.bytes > MAX_JSON) return undefined;
  try {
    return schema.safeParse(parseJson(yield* readBytes(path, 0, file.bytes), parsePythonJson)).data;
  } catch (error) {
    if (error instanceof UnreadableSave) return undefined;
    throw error;
  }
}

/** Saves of other formats that the folder holds. */
function* lookAtParts(listed: readonly StoredFile[], options: LookOptions): Reading<readonly Look[]> {
  const parts: Look[] = [];
  const weights = listed.filter(
    ({ path }) => !path.includes('/') && (path.endsWith('.safetensors') || path === SAFETENSORS.indexFile),
  );
  if (weights.length > 0) parts.push(yield* verifySafetensors(weights, options));
  for (const folder of DCP_FOLDERS)
    if (listed.some(({ path }) => path.startsWith(`${folder}/`)))
      parts.push(yield* lookWithin(folder, listed, (files) => verifyDcp(files, options)));
  if (listed.some(({ path }) => path === LATEST.native)) {
    const own = listed.filter(({ path }) => path === LATEST.native || /^[^/]+\/[^/]+$/.test(path));
    parts.push(yield* verifyDeepspeed(own, options));
  }
  return parts;
}

function missingParts(listed: readonly StoredFile[]): readonly Finding[] {
  const has = (pattern: RegExp): boolean => listed.some(({ path }) => pattern.test(path));
  const isDeepspeed = listed.some(({ path }) => path === LATEST.native);
  const hasWeights = listed.some(({ path }) => CAN_BE_WEIGHTS.test(path) && !NO_WEIGHTS.test(path));
  const isResumable = has(RANDOM_STATES);
  const hasOptimizer = has(OPTIMIZER) || isDeepspeed;
  const lacks = (isMissing: boolean, what: string): readonly Finding[] =>
    isMissing ? [finding('incomplete', what)] : [];
  return [
    ...lacks(!hasWeights && !isDeepspeed, 'The save has no file of weights.'),
    ...lacks(
      isResumable && !hasOptimizer,
      'The save has random states and no state of the optimizer, and the Trainer would go on without a word.',
    ),
    ...lacks(
      has(/^optimizer\.(?:pt|bin)$/) && !has(/^scheduler\.pt$/),
      'File scheduler.pt is not there, and without it the Trainer does not load the optimizer either.',
    ),
    ...missingRandomStates(listed),
  ];
}

/** With more than one rank, names end with the rank. The highest rank's file can be lost without a trace. */
function missingRandomStates(listed: readonly StoredFile[]): readonly Finding[] {
  const ranks = randomStateRanks(listed);
  if (ranks.size === 0) return [];
  const count = Math.max(2, ...[...ranks].map((rank) => rank + 1));
  const missing = Array.from({ length: count }, (_, rank) => rank).filter((rank) => !ranks.has(rank));
  const [first] = missing;
  if (first === undefined) return [];
  return [
    finding(
      'incomplete',
      `File rng_state_${String(first)}.pth is not there; random states of ${String(missing.length)} of ${String(count)} ranks are missing.`,
    ),
  ];
}

function randomStateRanks(listed: readonly StoredFile[]): ReadonlySet<number> {
  return new Set(listed.flatMap(({ path }) => RANDOM_STATES.exec(path)?.[1] ?? []).map(Number));
}

function factsOf(
  listed: readonly StoredFile[],
  step: number | undefined,
  release: string | undefined,
  parts: readonly Look[],
): SavedFacts {
  const ranks = randomStateRanks(listed).size;
  const isAlone = listed.some(({ path }) => path === 'rng_state.pth');
  const nested = parts.map(({ state }) => state?.facts).find((facts) => facts?.optimizerSharding !== undefined);
  const worldSize = nested?.worldSize ?? (isAlone ? 1 : ranks > 0 ? ranks : undefined);
  return {
    ...(step === undefined ? {} : { step }),
    ...(release === undefined ? {} : { engineRelease: `transformers ${release}` }),
    ...(nested?.optimizerSharding === undefined ? {} : { optimizerSharding: nested.optimizerSharding }),
    ...(worldSize === undefined ? {} : { worldSize }),
    holds: {
      optimizer: nested?.holds.optimizer ?? listed.some(({ path }) => OPTIMIZER.test(path)),
      randomStates: isAlone || ranks > 0,
      // The Trainer skips as many batches as it made steps.
      dataLoader: false,
      scheduler: listed.some(({ path }) => path === 'scheduler.pt') || nested?.holds.scheduler === true,
    },
  };
}
