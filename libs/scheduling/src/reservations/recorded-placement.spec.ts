import type { PlacementSpec } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { thePlacementOf } from '../testing/index.ts';
import { placementSha256 } from './recorded-placement.ts';

describe('the hash of a placement', () => {
  const spec = thePlacementOf(aTrainingJob());
  it('does not depend on the order of keys, nor on keys without a value', () => {
    const turned = Object.fromEntries(Object.entries(spec).toReversed()) as PlacementSpec;
    expect(placementSha256({ ...turned, resume: undefined })).toBe(placementSha256(spec));
  });

  it.each([
    ['another node', { nodes: ['node-a', 'node-c'] }],
    ['the same nodes in another order', { nodes: ['node-b', 'node-a'] }],
    ['another epoch', { epoch: 2 }],
    ['another job', { jobUid: 'another' }],
  ])('changes with %s', (_sentence, change) => {
    expect(placementSha256({ ...spec, ...change })).not.toBe(placementSha256(spec));
  });
});
