import type { Checkpoint } from '@coxswain/api-types';
import { hasKnownLayout } from '../adoption/adopted-save.ts';
import type { KnownSave } from './known-save.ts';

/** What a Checkpoint object tells of its save. Objects of older releases have the layout of their job alone. */
export function recordedSave(
  checkpoint: Pick<Checkpoint, 'status'> & {
    readonly spec: Pick<Checkpoint['spec'], 'format' | 'layout' | 'bytes' | 'jobName'>;
  },
): KnownSave {
  const { spec, status } = checkpoint;
  const { format, layout, bytes } = spec;
  const contents = status?.contents;
  // An optional field of zod may be undefined; in an object that was read from JSON none is.
  const facts = contents as NonNullable<KnownSave['facts']> | undefined;
  const hasUniversal = contents?.hasUniversal;
  return {
    ...{ format, bytes },
    ...(hasKnownLayout(checkpoint) ? { layout } : {}),
    ...(facts === undefined ? {} : { facts }),
    // A copy can have been made since the files were read, so only its presence counts.
    ...(hasUniversal === undefined ? {} : { hasUniversal }),
  };
}
