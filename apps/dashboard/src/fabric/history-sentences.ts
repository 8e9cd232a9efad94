/** Formats a recorded fabric as one line. */
import type { FabricSnapshot } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';

/** `2 nodes came, 1 went`: the changes since the snapshot before. */
export function snapshotSentence({ changes, unrecordedLooks }: FabricSnapshot): string {
  const skipped = unrecordedLooks === 0 ? '' : `; ${formatCount(unrecordedLooks, 'earlier observation')} not recorded`;
  if (changes === null) return `the first that is kept${skipped}`;
  const { came, gone, changed } = changes;
  const counts = [
    { count: came, word: 'came' },
    { count: gone, word: 'went' },
    { count: changed, word: 'changed' },
  ].filter(({ count }) => count > 0);
  const parts = counts.map(({ count, word }, at) =>
    at === 0 ? `${formatCount(count, 'node')} ${word}` : `${count.toLocaleString('en')} ${word}`,
  );
  return `${parts.length === 0 ? 'no node came, went or changed' : parts.join(', ')}${skipped}`;
}
