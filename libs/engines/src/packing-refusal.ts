/** Refuses `training.packing` where attention would not stay within documents. For all engines, before their adapters render. */
import { ENGINE_RELEASES, type EffectiveSpec } from '@coxswain/api-types';
import { whyNoPacking, WITH_PACKING } from '@coxswain/layout';
import type { EngineRefusal } from './engine-refusal.ts';

const FIELD = 'training.packing';

/** The refusal; undefined if the engine keeps attention within documents, or if the program of the user decides. */
export function packingRefusal({ engine, layout, training }: EffectiveSpec): EngineRefusal | undefined {
  if (training?.packing === undefined) return undefined;
  const { name, release = ENGINE_RELEASES[name][0], recipe } = engine;
  const why = whyNoPacking(name, release);
  if (why !== undefined)
    return {
      rule: 'engine-lacks-word',
      field: FIELD,
      why: `${name} cannot do ${FIELD}: ${why}`,
      fallback: WITH_PACKING,
    };
  if (name === 'torchtitan' && recipe !== undefined)
    return {
      rule: 'recipe-has-the-model',
      field: FIELD,
      why: `the mask of attention is built into the model, which ${recipe} brings along`,
      fallback: `remove ${FIELD}, and set the mask in the recipe`,
    };
  const { attentionMask: mask } = layout.kernel ?? {};
  if (mask === undefined || mask === 'document') return undefined;
  return {
    rule: 'packing-masks-documents',
    field: 'layout.kernel.attentionMask',
    why: `layout.kernel.attentionMask is ${mask}, and ${FIELD} keeps attention within documents`,
    fallback: `set it to document, or remove it or ${FIELD}`,
  };
}
