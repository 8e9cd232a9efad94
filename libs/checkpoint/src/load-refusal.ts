/** Decides whether a layout can load a checkpoint. */
import type { ParallelLayout } from '@coxswain/layout';
import { formatNamed } from './formats/formats.ts';

/** The format and layout in a Checkpoint resource. */
export interface SavedAs {
  readonly format: string;
  readonly layout: ParallelLayout;
}

/**
 * Why the layout cannot load the checkpoint, as a sentence without its subject ("was saved as ..."). Undefined if it can, or if
 * the format is unknown: then the engine decides.
 */
export function describeLoadRefusal(saved: SavedAs, layout: ParallelLayout): string | undefined {
  const fixed = formatNamed(saved.format)?.fixedDegrees?.(saved.layout, layout);
  const changed = fixed?.degrees.filter(({ of }) => of(saved.layout) !== of(layout)) ?? [];
  if (fixed === undefined || changed.length === 0) return undefined;
  const was = changed.map(({ field, of }) => `${field} ${of(saved.layout)}`).join(', ');
  const becomes = changed.map(({ field, of }) => `${field} ${of(layout)}`).join(', ');
  return `was saved as ${saved.format} with ${was}, and the layout has ${becomes}: ${fixed.instead}`;
}
