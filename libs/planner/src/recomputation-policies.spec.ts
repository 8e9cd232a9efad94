import type { RecomputePolicy } from './contract.ts';
import { isOfSomeLayers, recomputedLayersOf } from './recomputation-policies.ts';

describe('layers that are computed again as a whole', () => {
  it.each<[string, RecomputePolicy, number, number | undefined]>([
    ['two in five stand for chosen operations', 'operations', 32, 13],
    ['of a short chunk one', 'operations', 2, 1],
    ['every second one is half', 'half', 7, 4],
    ['of a single layer a part is all', 'operations', 1, undefined],
    ['as is half of it', 'half', 1, undefined],
    ['modules are no layers', 'norms', 32, undefined],
    ['all of them are no part', 'full', 32, undefined],
  ])('%s', (_, policy, layers, want) => {
    expect(recomputedLayersOf(policy, layers)).toBe(want);
    expect(isOfSomeLayers(policy)).toBe(policy === 'operations' || policy === 'half');
  });
});
