import type { ModelShape } from '@coxswain/layout';

import { modelOf } from '../presets/index.ts';
import { layerActivationsOf, type ActivationFacts } from './activations.ts';
import type { LayerKind } from './parameters.ts';

const MIB = 2 ** 20;
const DENSE: LayerKind = { mixer: 'attention', feedForward: 'mlp' };
const EXPERTS: LayerKind = { mixer: 'attention', feedForward: 'experts' };

function facts(overrides: Partial<ActivationFacts> = {}): ActivationFacts {
  return {
    tokens: 2048,
    sequenceLength: 2048,
    tensor: 1,
    expertTensor: 1,
    sequenceParallel: false,
    flashAttention: false,
    recompute: 'none',
    recomputeModules: [],
    expertLoad: 1,
    elementBytes: 2,
    inputBytes: 2,
    ...overrides,
  };
}

const GPT3: ModelShape = { ...modelOf('gpt3-175b').model, dropout: true };

describe('layerActivationsOf', () => {
  it.each<[number, string, Partial<ActivationFacts>]>([
    [2736, 'nothing is split', {}],
    [552, 'eight tensor ranks', { tensor: 8 }],
    [342, 'eight tensor ranks and sequence parallelism', { tensor: 8, sequenceParallel: true }],
    [
      102,
      'and attention scores are computed again',
      { tensor: 8, sequenceParallel: true, recompute: 'selective', recomputeModules: ['core_attn'] },
    ],
    [48, 'a layer keeps its input only', { recompute: 'full' }],
  ])('a layer of GPT-3 175B keeps %d MiB where %s (arXiv 2205.05198, table 2)', (mebibytes, _, overrides) => {
    expect(layerActivationsOf(GPT3, DENSE, facts(overrides)).kept / MIB).toBe(mebibytes);
  });

  it('FlashAttention leaves 816 MiB of 2736, and a sum per head and token', () => {
    const sums = (4 * 96 * 2048) / MIB;
    expect(layerActivationsOf(GPT3, DENSE, facts({ flashAttention: true })).kept / MIB).toBeCloseTo(816 + sums, 10);
  });

  it('a gated layer with grouped queries keeps (12 + 4 k / a) h + 6 f bytes per token', () => {
    const model = modelOf('llama-3.1-70b').model;
    const { kept } = layerActivationsOf(
      model,
      DENSE,
      facts({ flashAttention: true, tensor: 8, sequenceParallel: true }),
    );
    const h = model.hiddenSize;
    const perToken = (12 + (4 * model.keyValueHeads) / model.attentionHeads) * h + 6 * model.ffnHiddenSize;
    const sums = 4 * model.attentionHeads;
    expect(kept).toBeCloseTo((2048 / 8) * (perToken + sums), 5);
  });

  it('what is not kept is computed again', () => {
    const model = modelOf('deepseek-v3').model;
    const all = layerActivationsOf(model, EXPERTS, facts({ flashAttention: true })).kept;
    for (const recomputeModules of [['moe'], ['moe', 'moe_act'], ['layernorm', 'mla_up_proj', 'moe_act']] as const) {
      const selective = facts({ flashAttention: true, recompute: 'selective', recomputeModules });
      const { kept, transient } = layerActivationsOf(model, EXPERTS, selective);
      expect(kept + transient).toBeCloseTo(all, 0);
      expect(kept).toBeLessThan(all);
    }
  });

  it('recomputing a whole expert layer makes recomputing its activation free', () => {
    const model = modelOf('deepseek-v3').model;
    const whole = facts({ recompute: 'selective', recomputeModules: ['moe'] });
    const both = facts({ recompute: 'selective', recomputeModules: ['moe', 'moe_act', 'shared_experts'] });
    expect(layerActivationsOf(model, EXPERTS, both)).toEqual(layerActivationsOf(model, EXPERTS, whole));
  });

  it('experts keep the copies of a token that they take, and no more where capacity drops them', () => {
    const model = modelOf('mixtral-8x7b').model;
    const kept = (expertLoad: number): number =>
      layerActivationsOf(model, EXPERTS, facts({ flashAttention: true, expertLoad })).kept;
    const perCopy = 2048 * (2 * model.hiddenSize + 6 * 14336);
    expect(kept(1.25) - kept(1)).toBeCloseTo(0.25 * 2 * perCopy, 0);
  });

  it('inputs of matrix products are kept in their own format', () => {
    const model = modelOf('llama-3.1-8b').model;
    const bf16 = layerActivationsOf(model, DENSE, facts({ flashAttention: true })).kept;
    const fp8 = layerActivationsOf(model, DENSE, facts({ flashAttention: true, inputBytes: 1 })).kept;
    // Two norm outputs and the MLP's inner activation at half width; attention keeps its output in both formats.
    const { hiddenSize: h, ffnHiddenSize: f } = model;
    expect(bf16 - fp8).toBe(2048 * (2 * h + f - h));
  });

  it('linear attention keeps no scores, whatever the kernel', () => {
    const linear: LayerKind = { mixer: 'linear-attention', feedForward: 'mlp' };
    const model = modelOf('llama-3.1-8b').model;
    const keptBy = (flashAttention: boolean): number =>
      layerActivationsOf(model, linear, facts({ flashAttention })).kept;
    expect(keptBy(true)).toBe(keptBy(false));
    expect(keptBy(true)).toBeLessThan(layerActivationsOf(model, DENSE, facts({ flashAttention: true })).kept);
  });

  it('a Mamba layer keeps its projections and no attention', () => {
    const model = modelOf('nemotron-h-8b').model;
    const mamba: LayerKind = { mixer: 'mamba', feedForward: 'none' };
    const whole = layerActivationsOf(model, mamba, facts());
    const again = layerActivationsOf(model, mamba, facts({ recompute: 'selective', recomputeModules: ['mamba'] }));
    expect(again.kept).toBe(2048 * 4 * model.hiddenSize);
    expect(whole.kept).toBe(again.kept + again.transient);
  });
});
