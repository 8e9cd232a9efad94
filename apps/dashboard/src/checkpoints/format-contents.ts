import type { CheckpointContents, CheckpointRecord } from '@coxswain/api-types';

/** Whether training resumes from it, or only its weights are of use. */
export function describeHolds({ contents }: Pick<CheckpointRecord, 'contents'>): string {
  if (contents === null) return 'unknown';
  if (contents.isResumable) return 'resumable';
  return contents.holds.optimizer === false ? 'weights only' : 'unknown';
}

const HELD: readonly (readonly [keyof CheckpointContents['holds'], string])[] = [
  ['optimizer', 'optimizer'],
  ['randomStates', 'random states'],
  ['dataLoader', 'position in the data'],
  ['scheduler', 'learning-rate schedule'],
];

/** Which states beside the weights it holds, which it lacks, and which are unknown, each as a phrase; without any, an empty list. */
export function heldStates({ holds }: CheckpointContents): readonly (readonly [words: string, names: string])[] {
  const names = (want: boolean | undefined): string =>
    HELD.flatMap(([key, words]) => (holds[key] === want ? [words] : [])).join(', ');
  const all = [
    ['holds', names(true)],
    ['does not hold', names(false)],
    ['unknown', names(undefined)],
  ] as const;
  return all.filter(([, list]) => list !== '');
}
