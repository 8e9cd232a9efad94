/** Formats changes of the fabric, a line each. */
import type { FabricChange } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';

const WORDS = { came: 'came', gone: 'went', changed: 'changed' } as const;
/** The most names in a line; the rest is a number. */
const MOST_NAMES = 4;

/** `3 nodes changed: a, b, c`. */
export function changeSentence({ kind, nodeCount, nodes }: Omit<FabricChange, 'facts'>): string {
  const named = nodes.slice(0, MOST_NAMES).join(', ');
  const more = nodeCount > MOST_NAMES ? ` and ${(nodeCount - MOST_NAMES).toLocaleString('en')} more` : '';
  return `${formatCount(nodeCount, 'node')} ${WORDS[kind]}: ${named}${more}`;
}

/** The value of a fact before and after the change; for nodes that joined or left, their value alone. */
export function formatFactChange(
  kind: FabricChange['kind'],
  { before, after }: Pick<FabricChange['facts'][number], 'before' | 'after'>,
  arrow: string,
): string {
  const shown = (value: string | null): string => value ?? 'nobody says';
  return kind === 'changed' ? `${shown(before)} ${arrow} ${shown(after)}` : shown(before ?? after);
}
