import type { UnusableReference } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { observe } from '../testing/index.ts';
import { factsOf } from './facts.ts';
import { areReferencesDue } from './reference-standing.ts';
import { ReferenceReads } from './references.ts';

const CLAIM = { kind: 'PersistentVolumeClaim', name: 'corpse', field: 'spec.data.claimName' } as const;
const MISSING: UnusableReference = { ...CLAIM, problem: 'missing' };

/** Seconds at which a job reads, if it asks each second. */
function readsWithin(seconds: number, unusable: readonly UnusableReference[]): readonly number[] {
  const reads = new ReferenceReads();
  const read: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    const nowMs = second * 1_000;
    const facts = factsOf(observe({ job: aTrainingJob(), references: reads.of('job', nowMs) ?? 'unread' }));
    if (!areReferencesDue(facts, [CLAIM], { isPlacing: false })) continue;
    read.push(second);
    reads.note('job', [CLAIM], { unusable, ofOneNode: [], nowMs });
  }
  return read;
}

describe('an object that a job names', () => {
  it('is read every 10 s at first if pods cannot use it, and every minute after ten minutes', () => {
    const read = readsWithin(3_600, [MISSING]);
    expect(read.slice(0, 4)).toEqual([0, 10, 20, 30]);
    expect((read.at(-1) ?? 0) - (read.at(-2) ?? 0)).toBe(60);
    expect(read.length).toBeLessThan(90);
  });

  it('is read every five minutes if pods can use it', () => {
    expect(readsWithin(900, [])).toEqual([0, 300, 600]);
  });
});
