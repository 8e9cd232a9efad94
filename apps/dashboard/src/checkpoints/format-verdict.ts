import { meaningOf } from '@coxswain/api-client';
import type { CheckpointRecord, CheckpointVerification } from '@coxswain/api-types';

/** What is known about whether a checkpoint is good: a word, its color and what it means. */
export interface ShownVerdict {
  readonly words: string;
  readonly tone: 'good' | 'held' | 'bad' | 'idle';
  readonly meaning: string;
}

type Verdict = CheckpointVerification['verdict'];
type Level = CheckpointVerification['level'];

/** What each verdict means. */
export const VERDICT_MEANINGS: Readonly<Record<Verdict, string>> = {
  sound: 'The verification found nothing wrong, as closely as its level reads.',
  suspect: 'There are signs of damage that may have another cause.',
  damaged: 'The bytes are not what was saved. No restart begins from it by itself.',
  incomplete: 'A part is missing. No restart begins from it by itself.',
  unverifiable: 'Nothing in the files shows whether their content is right.',
};

/** What is read at each level. */
export const LEVEL_MEANINGS: Readonly<Record<Level, string>> = {
  V0: 'the marker of a complete save, and the times of files',
  V1: 'the structure: every tensor, every file and its size',
  V2: 'the envelope of each stored item',
  V3: 'all bytes, compared with their checksums',
};

/** Only a sound checkpoint is green, and only if more was read than the marker of its save. */
const TONES: Readonly<Record<Verdict, ShownVerdict['tone']>> = {
  sound: 'good',
  suspect: 'held',
  damaged: 'bad',
  incomplete: 'bad',
  unverifiable: 'idle',
};

/** What retention decided, with its reason; undefined: no policy decided about it. */
export function describeRetention({ retention }: CheckpointRecord): string | undefined {
  if (retention === null) return undefined;
  const { keeps, because, problem } = retention;
  const trouble = problem === undefined ? '' : ` Its files could not be deleted yet: ${problem}`;
  return `${keeps ? 'stays' : 'goes'}: ${because}${trouble}`;
}

/** The verdict about a checkpoint. One whose object was deleted is not green: no job can resume from it. */
export function shownVerdict(checkpoint: CheckpointRecord): ShownVerdict {
  const verdict = verdictOf(checkpoint);
  return checkpoint.deletedAt !== null && verdict.tone === 'good' ? { ...verdict, tone: 'idle' } : verdict;
}

/** A deletion counts before what nodes found when they loaded it, and that before what a verification found. */
function verdictOf(checkpoint: CheckpointRecord): ShownVerdict {
  const { state, isSuspect, message, verification, isBeingDeleted, isAbsent } = checkpoint;
  if (isBeingDeleted) {
    return { words: 'being deleted', tone: 'held', meaning: message ?? 'Its object is being deleted.' };
  }
  if (state === 'Damaged') {
    return { words: 'damaged', tone: 'bad', meaning: message ?? 'Two nodes found other content than was saved.' };
  }
  if (isBroken(verification)) return ofVerification(verification);
  if (isAbsent) {
    const meaning =
      'A pod did not find its files, although it could read other saves: an engine or a user deleted them.';
    return { words: 'files gone', tone: 'bad', meaning };
  }
  if (isSuspect) {
    return { words: 'suspect', tone: 'held', meaning: message ?? 'It could not be loaded. Launchers verify it again.' };
  }
  if (verification !== null) return ofVerification(verification);
  return {
    words: 'not verified',
    tone: 'idle',
    meaning: 'Its manifest was right when it was saved. No reader has read its files.',
  };
}

/** The same of one verification, such as one of the history. */
export function ofVerification({ verdict, level }: CheckpointVerification): ShownVerdict {
  const tone = Object.hasOwn(TONES, verdict) ? TONES[verdict] : 'idle';
  const meaning = meaningOf(VERDICT_MEANINGS, verdict);
  return {
    words: `${verdict} (${level})`,
    tone: tone === 'good' && level === 'V0' ? 'idle' : tone,
    meaning: `${meaning} ${level} reads ${meaningOf(LEVEL_MEANINGS, level)}.`,
  };
}

function isBroken(verification: CheckpointVerification | null): verification is CheckpointVerification {
  return verification?.verdict === 'damaged' || verification?.verdict === 'incomplete';
}
