import { aTrainingJob } from '@coxswain/api-types/testing';
import type { Action } from '../decide/decision.ts';
import { aPlacement } from '../testing/index.ts';
import { callBatches } from './call-batches.ts';

const job = aTrainingJob();
const placement = aPlacement(job).spec;
const pods = (count: number): readonly Action[] =>
  Array.from({ length: count }, (_, podIndex) => ({ kind: 'createPod', name: `p-${podIndex}`, podIndex, placement }));
const reference = (name: string): { readonly name: string; readonly uid: string } => ({ name, uid: `uid-of-${name}` });

describe('the calls of a decision', () => {
  it.each<readonly [string, readonly Action[], readonly (readonly string[])[]]>([
    ['of no action are none', [], []],
    ['of one action are one batch', [{ kind: 'addFinalizer' }], [['addFinalizer']]],
    [
      'of another kind wait for those before them',
      [
        { kind: 'deletePods', pods: [reference('a'), reference('b')], gracePeriodSeconds: 1 },
        { kind: 'removeFinalizer' },
      ],
      [['deletePod', 'deletePod'], ['removeFinalizer']],
    ],
    [
      'leave out what is done without asking the cluster',
      [
        { kind: 'refuseLaunchers', epoch: 1 },
        { kind: 'forgetPlanning' },
        { kind: 'liftGates', pods: [reference('a')] },
      ],
      [['liftGate']],
    ],
  ])('%s', (_sentence, actions, want) => {
    expect(callBatches(job, actions).map((batch) => batch.map(({ kind }) => kind))).toEqual(want);
  });

  it.each<readonly [number, readonly number[]]>([
    [1, [1]],
    [2, [1, 1]],
    [8, [1, 2, 4, 1]],
    [1_000, [1, 2, 4, 8, 16, 32, 64, 128, 256, 489]],
  ])('that make %d pods start with one and double, and leave none out', (count, sizes) => {
    const batches = callBatches(job, pods(count));
    expect(batches.map((batch) => batch.length)).toEqual(sizes);
    const names = batches.flat().map((call) => (call.kind === 'createPod' ? call.name : ''));
    expect(names).toEqual(pods(count).map((_, index) => `p-${index}`));
  });
});
