import type { CheckpointRecord } from '@coxswain/api-types';
import { aCheckpointRecord, aVerification } from '@coxswain/api-types/testing';
import { shownVerdict } from './format-verdict.ts';

type Changes = Partial<CheckpointRecord>;
const found = (...[changes]: Parameters<typeof aVerification>): Changes => ({ verification: aVerification(changes) });
const UNKNOWN = 'quantum' as 'sound';

describe('the verdict about a checkpoint', () => {
  it.each<[sentence: string, changes: Changes, shown: string, meaning: RegExp]>([
    ['is sound with its level', found({ level: 'V3' }), 'sound (V3): good', /V3 reads all bytes/],
    ['is green from the structure on', found({ level: 'V1' }), 'sound (V1): good', /V1 reads the structure/],
    ['is not green if only the marker was read', found({ level: 'V0' }), 'sound (V0): idle', /V0 reads the marker/],
    ['is red if it is damaged', found({ verdict: 'damaged' }), 'damaged (V1): bad', /not what was saved/],
    ['is red if it is incomplete', found({ verdict: 'incomplete' }), 'incomplete (V1): bad', /part is missing/],
    ['is amber if it is suspect', found({ verdict: 'suspect' }), 'suspect (V1): held', /signs of damage/],
    ['is grey if nothing shows it', found({ verdict: 'unverifiable' }), 'unverifiable (V1): idle', /Nothing in the/],
    ['is grey if this release does not know it', found({ verdict: UNKNOWN }), 'quantum (V1): idle', /^quantum/],
    ['is grey if its object is gone', { ...found(), deletedAt: 't' }, 'sound (V1): idle', /V1 reads/],
    ['is grey if no reader knows the format', {}, 'not verified: idle', /manifest was right/],
    [
      'is red if two nodes condemned it, whatever a verification found',
      { ...found({ level: 'V3' }), state: 'Damaged', message: 'a.distcp is cut off.' },
      'damaged: bad',
      /^a\.distcp is cut off\.$/,
    ],
    ['is red without a message, too', { state: 'Damaged' }, 'damaged: bad', /^Two nodes/],
    [
      'is amber if it could not be loaded, although it was sound',
      { ...found(), isSuspect: true, message: 'gpu-a could not read it.' },
      'suspect: held',
      /^gpu-a could not/,
    ],
    [
      'is red if it is both suspect and incomplete',
      { ...found({ verdict: 'incomplete' }), isSuspect: true },
      'incomplete (V1): bad',
      /part is missing/,
    ],
  ])('%s', (_sentence, changes, want, meaning) => {
    const shown = shownVerdict(aCheckpointRecord(changes));
    expect(`${shown.words}: ${shown.tone}`).toBe(want);
    expect(shown.meaning).toMatch(meaning);
  });
});
