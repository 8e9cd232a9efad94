import fc from 'fast-check';
import { candidateOfMesh } from '../space/search-space.ts';
import type { MeasuredLayout } from './kept-layouts.ts';
import { SimplestLayouts } from './simplest-layouts.ts';

const candidate = candidateOfMesh({
  ...{ tensor: 1, context: 1, pipeline: 1, data: 8, microBatchSize: 1 },
  ...{ contextAlgorithm: 'ring', rankOrder: 'tp-cp-dp-pp', expert: 1, expertTensor: 1 },
});
const measured = (stepTimeS: number, peakBytes: number, order: number): MeasuredLayout => ({
  ...{ candidate, gpus: 8, stepTimeS, peakBytes, order },
});
const offers = fc.array(
  fc.record({ timeS: fc.integer({ min: 90, max: 110 }), bytes: fc.integer({ min: 1, max: 3 }), complexity: fc.nat(4) }),
  { maxLength: 20 },
);

describe('SimplestLayouts', () => {
  it('answers with the fewest points among the layouts within the slowdown of the fastest, in whatever order they are offered', () => {
    fc.assert(
      fc.property(offers, fc.constantFrom(1, 1.03, 1.1), (all, slowdown) => {
        const kept = new SimplestLayouts(slowdown);
        all.forEach(({ timeS, bytes, complexity }, order) => kept.offer(measured(timeS, bytes, order), complexity));
        const fastestS = Math.min(...all.map(({ timeS }) => timeS));
        const wanted = all
          .map((offer, order) => ({ ...offer, order }))
          .filter(({ timeS }) => timeS <= slowdown * fastestS)
          .sort(
            (a, b) => a.complexity - b.complexity || a.timeS - b.timeS || a.bytes - b.bytes || a.order - b.order,
          )[0];
        expect(kept.simplest?.order).toBe(wanted?.order);
      }),
    );
  });

  it('excludes no layout that would become the answer', () => {
    fc.assert(
      fc.property(offers, fc.integer({ min: 85, max: 112 }), fc.nat(4), (all, timeS, complexity) => {
        const kept = new SimplestLayouts(1.03);
        all.forEach((offer, order) => kept.offer(measured(offer.timeS, offer.bytes, order), offer.complexity));
        const isExcluded = kept.excludes(timeS, complexity);
        kept.offer(measured(timeS, 2, 1000), complexity);
        expect(isExcluded && kept.simplest?.order === 1000).toBe(false);
      }),
    );
  });

  it('has no answer where nothing was offered, and excludes nothing then', () => {
    const kept = new SimplestLayouts(1.03);
    expect(kept.simplest).toBeUndefined();
    expect(kept.excludes(1, 0)).toBe(false);
  });
});
