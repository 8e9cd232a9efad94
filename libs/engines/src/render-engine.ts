import { type EffectiveSpec, EngineRun, MAX_ENGINE_RUN_BYTES, type TrainingJobSpec } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import { renderCommand } from './adapters/command.ts';
import { renderMegatronLm } from './adapters/megatron-lm.ts';
import { renderCustom } from './adapters/custom.ts';
import { renderDeepSpeed } from './adapters/deepspeed/deepspeed.ts';
import { renderHuggingFace } from './adapters/hugging-face/hugging-face.ts';
import { renderReference } from './adapters/reference.ts';
import { renderTorchTitan } from './adapters/torchtitan/torchtitan.ts';
import type { EngineRefusal } from './engine-refusal.ts';
import { withRankStarter } from './rank-starter.ts';
import { refused, type EngineAdapter, type RenderedEngine, type RenderContext, type Rendering } from './rendering.ts';
import { unfitText } from './unfit-text.ts';

/** What is run for the spec, or why its engine cannot run it. What an engine has no word for is refused, never dropped. */
export function renderEngine(spec: EffectiveSpec, context: RenderContext = {}): Rendering {
  const unfit = unfitText(spec);
  if (unfit !== undefined) return refused(unfit);
  const rendering = ADAPTERS[spec.engine.name](spec, context);
  if (rendering.kind === 'refused') return rendering;
  const started = withRankStarter(rendering, spec);
  if (started.kind === 'refused') return started;
  const complete = started.checkpoints === undefined ? started : { ...started, savedBy: savedBy(spec) };
  return tooLong(complete) ?? complete;
}

/** What the manifest says of the engine that its launcher writes for it. */
function savedBy({ engine, layout }: EffectiveSpec): NonNullable<RenderedEngine['savedBy']> {
  return { engine: engine.name, layout };
}

/**
 * Why the engine cannot run the spec at all, whatever the epoch; undefined when it can. A layout that is still to be chosen is no reason: the
 * planner chooses among those that the engine can do.
 */
export function engineRefusal(spec: TrainingJobSpec): EngineRefusal | undefined {
  const rendered = renderEngine({ ...spec, layout: spec.layout ?? ParallelLayout.parse({}) });
  return rendered.kind === 'refused' ? rendered : undefined;
}

/** What the pod could not be told. */
function tooLong(rendering: RenderedEngine): Rendering | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify(EngineRun.parse(rendering))).length;
  if (bytes <= MAX_ENGINE_RUN_BYTES) return undefined;
  return refused({
    rule: 'rendering-fits-a-pod',
    field: 'engine',
    why: `the files and arguments that are rendered for the engine come to ${bytes} bytes, and a pod is told ${MAX_ENGINE_RUN_BYTES} at most`,
    fallback: 'put what is long into the image or into a claim, and name its path in engine.args',
  });
}

const ADAPTERS: Readonly<Record<TrainingJobSpec['engine']['name'], EngineAdapter>> = {
  reference: renderReference,
  command: renderCommand,
  'megatron-lm': renderMegatronLm,
  torchtitan: renderTorchTitan,
  deepspeed: renderDeepSpeed,
  'hugging-face': renderHuggingFace,
  custom: renderCustom,
};
