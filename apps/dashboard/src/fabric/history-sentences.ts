/** How is a recorded fabric said in a line? */
import type { FabricSnapshot } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';

/** `2 nodes came, 1 went`; what changed since the snapshot before. */
export function snapshotSentence({ changes, unrecordedLooks }: FabricSnapshot): string {
  const looks = unrecordedLooks === 0 ? '' : `; ${formatCount(unrecordedLooks, 'look')} before saw it otherwise`;
  if (changes === null) return `the first that is kept${looks}`;
  const { came, gone, changed } = changes;
  const counts = [
    { count: came, word: 'came' },
    { count: gone, word: 'went' },
    { count: changed, word: 'changed' },
  ].filter(({ count }) => count > 0);
  const said = counts.map(({ count, word }, at) =>
    at === 0 ? `${formatCount(count, 'node')} ${word}` : `${count.toLocaleString('en')} ${word}`,
  );
  return `${said.length === 0 ? 'no node came, went or changed' : said.join(', ')}${looks}`;
}
