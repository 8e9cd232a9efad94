/** What a conversion of weights does not take along, by name. */
import { kindOf } from '../contents-of.ts';
import type { SavedState, SavedTensor } from '../read/saved-state.ts';

/** Tensors and objects of one sort that the new save does not have. */
export interface LeftBehind {
  readonly what: string;
  readonly count: number;
  /** A few of their names. */
  readonly examples: readonly string[];
}

const SORTS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|[./])(?:optimizers?|optim)(?:[./]|$)/, 'optimizer'],
  [/(?:^|[./])rng_states?(?:[._/]|$)/, 'random states'],
  [/(?:^|[./])(?:dataloader|data_loader|loader)(?:[./]|$)/, 'position in the data'],
  [/(?:^|[./])(?:lr_scheduler|scheduler|opt_param_scheduler)(?:[./]|$)/, 'learning-rate schedule'],
  [/_extra_state(?:[./]|$)/, 'extra states of modules (FP8 scales among them)'],
  [/\.rotary_emb\.inv_freq$/, 'tables that the model computes'],
];
const COMPUTED = /\.rotary_emb\.inv_freq$/;
const MOST_EXAMPLES = 3;

/** Whether a tensor is a weight of the model. */
export function isWeight(tensor: SavedTensor): boolean {
  return kindOf(tensor) === 'parameter' && !COMPUTED.test(tensor.key);
}

/** All that is no weight, by sort. */
export function leftBehindOf({ tensors, objects }: SavedState): readonly LeftBehind[] {
  const names = new Map<string, string[]>();
  const note = (what: string, key: string): void => {
    const known = names.get(what);
    if (known === undefined) names.set(what, [key]);
    else known.push(key);
  };
  for (const tensor of tensors) {
    if (isWeight(tensor)) continue;
    const isOptimizer = kindOf(tensor) === 'moment' || kindOf(tensor) === 'master';
    note(isOptimizer ? 'optimizer' : sortOf(tensor.key), tensor.key);
  }
  for (const { key } of objects) note(sortOf(key), key);
  return [...names].map(([what, keys]) => ({ what, count: keys.length, examples: keys.slice(0, MOST_EXAMPLES) }));
}

function sortOf(key: string): string {
  return SORTS.find(([pattern]) => pattern.test(key))?.[1] ?? 'other state';
}
