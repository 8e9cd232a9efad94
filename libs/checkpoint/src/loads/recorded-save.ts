import type { Checkpoint } from '@coxswain/api-types';
import type { KnownSave } from './known-save.ts';

/** What `status.contents` of a Checkpoint object tells, if its files were read when it was saved or later. */
interface RecordedContents extends NonNullable<KnownSave['facts']> {
  readonly bytes?: number;
}

/** What a Checkpoint object tells of its save. Objects of older releases have the layout of their job alone. */
export function recordedSave({ spec, status }: Checkpoint): KnownSave {
  const { contents } = (status ?? {}) as { readonly contents?: RecordedContents };
  const { format, layout, bytes } = spec;
  return { format, layout, bytes, ...(contents === undefined ? {} : { facts: contents }) };
}
