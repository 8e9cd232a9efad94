import {
  type EffectiveSpec,
  EngineRun,
  MAX_ENGINE_FILE_LENGTH,
  MAX_ENGINE_RUN_BYTES,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import { renderCommand } from './adapters/command.ts';
import { renderMegatronBridge } from './adapters/megatron-bridge/megatron-bridge.ts';
import { renderMegatronLm } from './adapters/megatron-lm.ts';
import { renderCustom } from './adapters/custom.ts';
import { renderDeepSpeed } from './adapters/deepspeed/deepspeed.ts';
import { renderHuggingFace } from './adapters/hugging-face/hugging-face.ts';
import { renderReference } from './adapters/reference.ts';
import { renderTorchTitan } from './adapters/torchtitan/torchtitan.ts';
import type { EngineRefusal } from './engine-refusal.ts';
import { packingRefusal } from './packing-refusal.ts';
import { passOptions } from './options/pass-options.ts';
import { type Contradiction, optionsRefusal, readOptions } from './options/read-options.ts';
import { withRankStarter } from './rank-starter.ts';
import {
  MAX_COMMAND_BYTES,
  refused,
  type EngineAdapter,
  type RenderedEngine,
  type RenderContext,
  type Rendering,
} from './rendering.ts';
import { textRefusal } from './text-refusal.ts';

/** Linux takes no longer argument (MAX_ARG_STRLEN, with the NUL at its end). */
const MAX_ARGUMENT_BYTES = 131_071;

/**
 * Renders the arguments, files and variables with which the engine runs the spec, or refuses it. A field without an equivalent
 * is refused, never dropped.
 */
export function renderEngine(spec: EffectiveSpec, context: RenderContext = {}): Rendering {
  const unfit = textRefusal(spec) ?? memorySavesRefusal(spec);
  if (unfit !== undefined) return refused(unfit);
  const read = readOptions(spec);
  const mixed = packingRefusal(read.spec);
  const rendering = mixed === undefined ? ADAPTERS[spec.engine.name](read.spec, context) : refused(mixed);
  if (rendering.kind === 'refused') return optionsFirst(read.contradictions, rendering);
  const { run, contradictions } = passOptions(rendering, read.others, read.spec);
  const contradicting = optionsRefusal([...read.contradictions, ...contradictions]);
  if (contradicting !== undefined) return refused(contradicting);
  const started = withRankStarter(run, spec);
  if (started.kind === 'refused') return started;
  const complete = {
    ...started,
    ...(started.checkpoints === undefined ? {} : { savedBy: savedBy(spec) }),
    ...tokensOfStep(spec),
  };
  return tooLong(complete) ?? complete;
}

/** Engines that save in the memory of their pods as `RANK_ENV` describes. */
const SAVE_IN_MEMORY: readonly TrainingJobSpec['engine']['name'][] = ['reference'];

function memorySavesRefusal({ engine, checkpoint }: EffectiveSpec): EngineRefusal | undefined {
  if (checkpoint?.memory === undefined || SAVE_IN_MEMORY.includes(engine.name)) return undefined;
  return {
    rule: 'engine-saves-in-memory',
    field: 'checkpoint.memory',
    why: `engine "${engine.name}" does not save in the memory of its pods; ${SAVE_IN_MEMORY.join(', ')} does`,
    fallback: 'leave checkpoint.memory out, and save more often (checkpoint.everySteps)',
  };
}

/** Contradicting options are reported before what the adapter refuses of a job without them. */
function optionsFirst(contradictions: readonly Contradiction[], refusal: Rendering): Rendering {
  const contradicting = optionsRefusal(contradictions);
  return contradicting === undefined ? refusal : refused(contradicting);
}

/** Only the reference engine reports tokens. For other engines they follow from the batch and the sequence length of the job. */
function tokensOfStep({ engine, training, model }: EffectiveSpec): Pick<RenderedEngine, 'tokensPerStep'> {
  const { sequenceLength } = model ?? {};
  if (engine.name === 'reference' || training === undefined || sequenceLength === undefined) return {};
  return { tokensPerStep: training.globalBatchSize * sequenceLength };
}

/** What the launcher writes about the engine to the manifest. */
function savedBy({ engine, layout }: EffectiveSpec): NonNullable<RenderedEngine['savedBy']> {
  return { engine: engine.name, layout };
}

/**
 * Why the engine cannot run the spec in any attempt; undefined if it can. A missing layout is no reason: the planner chooses
 * among the layouts that the engine supports.
 */
export function engineRefusal(spec: TrainingJobSpec): EngineRefusal | undefined {
  const rendered = renderEngine({ ...spec, layout: spec.layout ?? ParallelLayout.parse({}) });
  return rendered.kind === 'refused' ? rendered : undefined;
}

/** Refuses renderings that do not fit into a pod. */
function tooLong(rendering: RenderedEngine): Rendering | undefined {
  const { files, resumeArgs, command } = rendering;
  const runBytes = bytesOf(JSON.stringify(EngineRun.safeParse(rendering).data ?? { files, resumeArgs }));
  const longest = Math.max(...files.map(({ text }) => text.length), 0);
  const whole = command.reduce((sum, word) => sum + bytesOf(word), 0);
  return (
    beyond(runBytes, MAX_ENGINE_RUN_BYTES, 'the files and arguments that are rendered for the engine come to') ??
    beyond(longest, MAX_ENGINE_FILE_LENGTH, 'a file that is rendered for the engine comes to') ??
    beyond(whole, MAX_COMMAND_BYTES, 'the command that is rendered for the engine comes to') ??
    beyond(Math.max(...command.map(bytesOf)), MAX_ARGUMENT_BYTES, 'an argument that is rendered comes to')
  );
}

function beyond(bytes: number, most: number, what: string): Rendering | undefined {
  if (bytes <= most) return undefined;
  return refused({
    rule: 'rendering-fits-a-pod',
    field: 'engine',
    why: `${what} ${bytes} bytes, and a pod can hold at most ${most}`,
    fallback: 'put what is long into the image or into a claim, and name its path in engine.args',
  });
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

const ADAPTERS: Readonly<Record<TrainingJobSpec['engine']['name'], EngineAdapter>> = {
  reference: renderReference,
  command: renderCommand,
  'megatron-lm': renderMegatronLm,
  'megatron-bridge': renderMegatronBridge,
  torchtitan: renderTorchTitan,
  deepspeed: renderDeepSpeed,
  'hugging-face': renderHuggingFace,
  custom: renderCustom,
};
