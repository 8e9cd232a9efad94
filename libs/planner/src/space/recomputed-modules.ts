/** Modules that each recomputation policy recomputes. */
import type { ModelShape } from '@coxswain/layout';
import type { RecomputePolicy } from '../contract.ts';
import type { RecomputeModule } from '../facts.ts';

/** The modules of a model that a policy recomputes. */
export function modulesOf(policy: RecomputePolicy, model: ModelShape): readonly RecomputeModule[] {
  const has = modelModules(model);
  switch (policy) {
    case 'none':
    case 'operations':
    case 'half':
    case 'full':
      return has.nothing;
    case 'core-attention':
      return has.coreAttention;
    case 'norms':
      return has.norms;
    case 'mlp':
      return has.mlp;
  }
}

interface ModelModules {
  readonly nothing: readonly RecomputeModule[];
  readonly coreAttention: readonly RecomputeModule[];
  readonly norms: readonly RecomputeModule[];
  readonly mlp: readonly RecomputeModule[];
}

const modulesOfModels = new WeakMap<ModelShape, ModelModules>();

/** Cached by model, so that a search allocates no list per layout. */
function modelModules(model: ModelShape): ModelModules {
  const known = modulesOfModels.get(model);
  if (known !== undefined) return known;
  const pattern = model.layerPattern;
  const hasMlp = pattern === undefined ? model.ffnHiddenSize > 0 : pattern.includes('-');
  const latent: readonly RecomputeModule[] = model.latentAttention === undefined ? [] : ['mla_up_proj'];
  const activation: readonly RecomputeModule[] = model.experts === undefined ? [] : ['moe_act'];
  const experts: readonly RecomputeModule[] = model.experts === undefined ? [] : ['moe'];
  const mlp: readonly RecomputeModule[] = hasMlp ? ['mlp'] : [];
  const modules: ModelModules = {
    nothing: [],
    coreAttention: ['core_attn'],
    norms: ['layernorm', ...latent, ...activation],
    mlp: ['layernorm', ...latent, ...mlp, ...experts],
  };
  modulesOfModels.set(model, modules);
  return modules;
}
