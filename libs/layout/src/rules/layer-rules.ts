import { nearestDivisor } from '../nearest.ts';
import { worldSize } from '../parallel-layout.ts';
import { brokenIf, type OptionRule } from './option-rule.ts';

/** Rules about `perLayer`, layers that are divided differently from the others. */
export const layerRules: readonly OptionRule[] = [
  {
    name: 'perLayerRangesAreLayers',
    source: 'Galvatron',
    statement: 'ranges of perLayer lie inside the model, do not overlap, and their degrees divide the ranks of a stage',
    check: (layout, facts) => {
      const runs = (layout.perLayer ?? []).map((entry, index) => ({ entry, at: `perLayer/${index}` }));
      const stage = worldSize(layout) / layout.pipelineParallelDegree;
      const taken = new Set<number>();
      return runs.flatMap(({ entry, at }) => {
        const ways =
          (entry.tensorParallelDegree ?? layout.tensorParallelDegree) *
          (entry.contextParallelDegree ?? layout.contextParallelDegree ?? 1);
        const uneven = brokenIf(
          stage % ways !== 0,
          `${at}/tensorParallelDegree`,
          () =>
            `${at.replace('/', '.')}: tensor times context parallelism ${ways} does not divide the ${stage} ranks of a stage; ` +
            `the nearest that does is ${nearestDivisor(stage, ways)}`,
        );
        if ((entry.part ?? 'layers') !== 'layers') return uneven;
        const [first, last] = [entry.firstLayer ?? 0, entry.lastLayer ?? (facts.layers ?? 1) - 1];
        const outside = brokenIf(
          first > last || (facts.layers !== undefined && last >= facts.layers),
          `${at}/lastLayer`,
          () =>
            `${at.replace('/', '.')}: layers ${first} to ${last} are not a range of a model of ${facts.layers ?? 'unknown'} layers, counted from 0; ` +
            `the last legal is ${(facts.layers ?? last + 1) - 1}`,
        );
        const overlapping = range(first, last).filter((layer) => taken.has(layer));
        range(first, last).forEach((layer) => taken.add(layer));
        return [
          ...uneven,
          ...outside,
          ...brokenIf(
            overlapping.length > 0,
            `${at}/firstLayer`,
            () => `${at.replace('/', '.')}: layer ${overlapping[0] ?? 0} is in an earlier range too; start after it`,
          ),
        ];
      });
    },
  },
  {
    name: 'smallestDegreesDivideGlobalBatch',
    source: 'Galvatron',
    statement:
      'with perLayer, the ranks of a stage divided by the smallest tensor and context degrees divide globalBatchSize',
    check: (layout, { globalBatchSize }) => {
      const entries = layout.perLayer ?? [];
      if (entries.length === 0 || globalBatchSize === undefined) return [];
      const least = (of: (entry: (typeof entries)[number]) => number | undefined, whole: number): number =>
        Math.min(whole, ...entries.map((entry) => of(entry) ?? whole));
      const stage = worldSize(layout) / layout.pipelineParallelDegree;
      const ways =
        stage /
        (least((entry) => entry.tensorParallelDegree, layout.tensorParallelDegree) *
          least((entry) => entry.contextParallelDegree, layout.contextParallelDegree ?? 1));
      return brokenIf(
        globalBatchSize % ways !== 0,
        'perLayer',
        () =>
          `the layers with the smallest degrees split the batch ${ways} ways, which do not divide globalBatchSize ${globalBatchSize}; ` +
          `the nearest number of ways is ${nearestDivisor(globalBatchSize, ways)}`,
      );
    },
  },
];

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
