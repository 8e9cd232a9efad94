import type { FabricSnapshot } from '@coxswain/api-types';
import { snapshotSentence } from './history-sentences.ts';

const snapshot = (changes: FabricSnapshot['changes'], unrecordedLooks = 0): FabricSnapshot => ({
  id: '3f1c2b9e-0000-4000-8000-000000000001',
  takenAt: '2030-01-31T12:00:00.000Z',
  seenUntil: '2030-01-31T13:00:00.000Z',
  nodes: 4,
  gpus: 32,
  islands: 1,
  nvlinkDomains: 0,
  changes,
  unrecordedLooks,
});

describe('a snapshot of the fabric', () => {
  it.each<[string, FabricSnapshot]>([
    ['the first that is kept', snapshot(null)],
    ['1 node came', snapshot({ came: 1, gone: 0, changed: 0 })],
    ['2 nodes came, 1,024 went, 3 changed', snapshot({ came: 2, gone: 1_024, changed: 3 })],
    ['5 nodes changed; 1 earlier observation not recorded', snapshot({ came: 0, gone: 0, changed: 5 }, 1)],
    [
      'no node came, went or changed; 2 earlier observations not recorded',
      snapshot({ came: 0, gone: 0, changed: 0 }, 2),
    ],
  ])('is told as: %s', (sentence, told) => {
    expect(snapshotSentence(told)).toBe(sentence);
  });
});
