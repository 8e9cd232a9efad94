/** Jobs that leave their layout open: what may be computed again, and what their engine then reads. */
import { effectiveSpec, type TrainingJobSpec } from '@coxswain/api-types';
import { aPlannedJobSpec } from '@coxswain/api-types/testing';
import { renderEngine } from '@coxswain/engines';
import { type AllowedChoices, parsePlanRequest, plan } from '@coxswain/planner';
import { engineOffers, toEngineLayoutOf } from './engine-offers.ts';
import { plannerView } from './planner-view.ts';

type Policy = NonNullable<AllowedChoices['recompute']>[number];
type Engine = 'megatron-lm' | 'megatron-bridge' | 'torchtitan' | 'deepspeed' | 'hugging-face';

function specFor(name: Engine): TrainingJobSpec {
  const runsProgram = name === 'deepspeed' || name === 'hugging-face';
  return aPlannedJobSpec({
    gpus: 8,
    engine: { name, image: 'i', ...(runsProgram ? { command: ['train'] } : {}) },
    model: { preset: 'llama-3.1-8b', sequenceLength: 4096 },
    training: { steps: 10, globalBatchSize: 16, microBatchSize: 1 },
    data: { format: 'mock' },
  });
}

/** Every word that the engine of the job reads, where the layout is planned with one policy alone. */
function readWith(spec: TrainingJobSpec, policy: Policy): string {
  const { allow, pinned } = engineOffers(spec);
  const view = plannerView(spec);
  if (view === undefined) throw new Error('the planner sees no job');
  const narrowed = { allow, pinned: { ...pinned, ...view.pinned, recompute: policy, tensor: 1, pipeline: 1 } };
  const request = parsePlanRequest({ ...view, ...narrowed, cluster: { gpu: 'h100', gpus: 8 } });
  const { best } = plan(request, { withAdvice: false });
  if (best === undefined) throw new Error(`nothing fits with ${policy}`);
  const { gpus: _asked, ...rest } = spec;
  const chosen = effectiveSpec({ ...rest, layout: toEngineLayoutOf(spec)(best.layout) }, undefined);
  const rendered = chosen && renderEngine(chosen);
  if (rendered?.kind !== 'rendered') throw new Error(`it is not rendered: ${JSON.stringify(rendered)}`);
  return [...rendered.command, ...rendered.files.map(({ text }) => text)].join(' ').replaceAll(/\s+/g, ' ');
}

describe('what may be computed again in a job with an open layout', () => {
  it.each<[string, Engine, readonly Policy[]]>([
    [
      'modules, half of the layers or all by Megatron-LM',
      'megatron-lm',
      ['none', 'core-attention', 'norms', 'mlp', 'half', 'full'],
    ],
    ['the same by its recipes', 'megatron-bridge', ['none', 'core-attention', 'norms', 'mlp', 'half', 'full']],
    ['what TorchTitan chooses, or all', 'torchtitan', ['none', 'operations', 'full']],
    ['all or nothing by DeepSpeed', 'deepspeed', ['none', 'full']],
    ['all or nothing by the Trainer', 'hugging-face', ['none', 'full']],
  ])('is %s', (_sentence, engine, want) => {
    expect(engineOffers(specFor(engine)).allow.recompute).toEqual(want);
  });

  it.each<[Engine, Policy, RegExp]>([
    ['megatron-lm', 'norms', /--recompute-granularity selective .*--recompute-modules layernorm/],
    ['megatron-lm', 'half', /--recompute-method block .*--recompute-num-layers 16/],
    ['megatron-lm', 'full', /--recompute-granularity full/],
    ['torchtitan', 'operations', /"activation_checkpoint": \{ "mode": "selective" \}/],
    ['torchtitan', 'full', /"activation_checkpoint": \{ "mode": "full" \}/],
    ['deepspeed', 'full', /"activation_checkpointing": \{ "partition_activations": false/],
    ['hugging-face', 'full', /gradient_checkpointing|FSDP_ACTIVATION_CHECKPOINTING/],
  ])('is read by %s where it is %s', (engine, policy, want) => {
    expect(readWith(specFor(engine), policy)).toMatch(want);
  });
});
