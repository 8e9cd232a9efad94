/** The tensors that a model has, whatever a spelling calls them. */
import type { ModelConfig } from './model-config.ts';

/** What a tensor is in its model. Those of layers and experts occur once in each. */
export const ROLES = {
  embedding: 'model',
  finalNorm: 'model',
  head: 'model',
  attentionNorm: 'layer',
  mlpNorm: 'layer',
  q: 'layer',
  k: 'layer',
  v: 'layer',
  o: 'layer',
  qBias: 'layer',
  kBias: 'layer',
  vBias: 'layer',
  qNorm: 'layer',
  kNorm: 'layer',
  gate: 'layer',
  up: 'layer',
  down: 'layer',
  router: 'layer',
  expertGate: 'expert',
  expertUp: 'expert',
  expertDown: 'expert',
} as const;
export type Role = keyof typeof ROLES;

/** Which one: absent numbers do not apply. */
export interface ModelTensor {
  readonly role: Role;
  readonly layer?: number;
  readonly expert?: number;
}

/** Identifies a tensor of the model. */
export function idOf({ role, layer = -1, expert = -1 }: ModelTensor): string {
  return `${role} ${String(layer)} ${String(expert)}`;
}

/** The shape that the configuration of the model gives a tensor. */
export function shapeOf(role: Role, model: ModelConfig): readonly number[] {
  const { hiddenSize, headSize, words, feedForwardSize, experts } = model;
  const queries = model.heads * headSize;
  const keys = model.keyValueHeads * headSize;
  const shapes: Readonly<Record<Role, readonly number[]>> = {
    embedding: [words, hiddenSize],
    finalNorm: [hiddenSize],
    head: [words, hiddenSize],
    attentionNorm: [hiddenSize],
    mlpNorm: [hiddenSize],
    q: [queries, hiddenSize],
    k: [keys, hiddenSize],
    v: [keys, hiddenSize],
    o: [hiddenSize, queries],
    qBias: [queries],
    kBias: [keys],
    vBias: [keys],
    qNorm: [headSize],
    kNorm: [headSize],
    gate: [feedForwardSize, hiddenSize],
    up: [feedForwardSize, hiddenSize],
    down: [hiddenSize, feedForwardSize],
    router: [experts, hiddenSize],
    expertGate: [feedForwardSize, hiddenSize],
    expertUp: [feedForwardSize, hiddenSize],
    expertDown: [hiddenSize, feedForwardSize],
  };
  return shapes[role];
}

/** All tensors of the model, those of a layer together. The output layer is not among them if it is the embedding. */
export function* tensorsOf(model: ModelConfig): Generator<ModelTensor> {
  yield { role: 'embedding' };
  for (let layer = 0; layer < model.layers; layer++) {
    for (const role of rolesOfLayer(model)) yield { role, layer };
    for (let expert = 0; expert < model.experts; expert++)
      for (const role of EXPERT_ROLES) yield { role, layer, expert };
  }
  yield { role: 'finalNorm' };
  if (!model.isTied) yield { role: 'head' };
}

const EXPERT_ROLES = ['expertGate', 'expertUp', 'expertDown'] as const;

function rolesOfLayer({ family, experts }: ModelConfig): readonly Role[] {
  const hasNorms = family === 'qwen3' || family === 'qwen3_moe';
  return [
    'attentionNorm',
    'q',
    'k',
    'v',
    ...(family === 'qwen2' ? (['qBias', 'kBias', 'vBias'] as const) : []),
    ...(hasNorms ? (['qNorm', 'kNorm'] as const) : []),
    'o',
    'mlpNorm',
    ...(experts > 0 ? (['router'] as const) : (['gate', 'up', 'down'] as const)),
  ];
}
