/** Which layouts load a checkpoint of which format? */
import type { ParallelLayout } from '@coxswain/layout';
import { formatNamed } from './formats/formats.ts';

/** What a Checkpoint resource says of the state. */
export interface SavedAs {
  readonly format: string;
  readonly layout: ParallelLayout;
}

/**
 * Why that layout does not load it, as a sentence without its first words ("which ..."); undefined where it does, or where the format is not known here: its
 * engine says it then.
 */
export function whyNotLoadedBy(saved: SavedAs, layout: ParallelLayout): string | undefined {
  const fixed = formatNamed(saved.format)?.fixedDegrees?.(saved.layout, layout);
  const changed = fixed?.degrees.filter(({ of }) => of(saved.layout) !== of(layout)) ?? [];
  if (fixed === undefined || changed.length === 0) return undefined;
  const was = changed.map(({ field, of }) => `${field} ${of(saved.layout)}`).join(', ');
  const becomes = changed.map(({ field, of }) => `${field} ${of(layout)}`).join(', ');
  return `was saved as ${saved.format} with ${was}, and the layout has ${becomes}: ${fixed.instead}`;
}
