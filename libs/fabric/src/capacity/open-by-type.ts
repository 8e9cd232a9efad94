import { packWithin } from './across-islands.ts';
import type { AcrossIslands, GangShape } from '../traffic/gang-shape.ts';
import { freeGpusOf, type OpenNode } from './open-nodes.ts';

/**
 * The nodes that one gang may be placed on together: those of each type of GPU that has enough by itself, or all nodes where no type has. Nodes that do
 * not say their type count as one more.
 */
export function openByType(question: {
  readonly shape: GangShape;
  readonly open: readonly OpenNode[];
  readonly acrossIslands: AcrossIslands;
}): readonly (readonly OpenNode[])[] {
  const { shape, open, acrossIslands } = question;
  const byType = [...Map.groupBy(open, ({ node }) => node.gpuType ?? '').values()];
  if (byType.length <= 1) return [open];
  const enough = byType.filter((alike) => {
    const nodes = alike.map(({ node }) => node);
    return packWithin(acrossIslands, shape, nodes, freeGpusOf(alike)) !== undefined;
  });
  return enough.length > 0 ? enough : [open];
}
