import fc from 'fast-check';
import { type GridPoint, gridPointOf } from './grid-point.ts';
import {
  firstViolation,
  gridRules,
  layoutFindings,
  type LayoutFacts,
  layoutRules,
  layoutViolations,
  type ParallelLayout,
} from './index.ts';
import { isLegalGrid } from './rules/grid-rules.ts';
import { aLayout } from './testing/index.ts';
import { DENSE, EIGHT_EXPERTS } from './testing/rule-cases.ts';

describe('the rules together', () => {
  it('each have a name of their own, a source and a statement', () => {
    const names = layoutRules.map((rule) => rule.name);
    expect(new Set(names).size).toBe(names.length);
    expect(layoutRules.filter((rule) => rule.source === '' || rule.statement === '')).toEqual([]);
  });

  it('tell errors before warnings', () => {
    const severities = layoutRules.map((rule) => rule.severity);
    expect(severities.lastIndexOf('error')).toBeLessThan(severities.indexOf('warning'));
  });

  it('tell everything that is wrong at once, each with the field it concerns', () => {
    const layout = aLayout({ tensorParallelDegree: 5, pipelineParallelDegree: 3, contextParallelDegree: 3 });
    expect(layoutViolations(layout, DENSE).map(({ rule, field }) => `${rule}: ${field}`)).toEqual([
      'tensorDividesAttentionHeads: tensorParallelDegree',
      'tensorFitsKeyValueHeads: tensorParallelDegree',
      'tensorDividesFfnHiddenSize: tensorParallelDegree',
      'contextDividesSequence: contextParallelDegree',
      'pipelineDividesLayers: pipelineParallelDegree',
    ]);
  });

  it('find nothing where model, batch and machines are not known', () => {
    expect(layoutFindings(aLayout({ tensorParallelDegree: 7, pipelineParallelDegree: 3 }), {})).toEqual([]);
  });
});

const upTo = (most: number): fc.Arbitrary<number> => fc.integer({ min: 1, max: most });
const anyLayout = fc
  .record({
    tensor: upTo(12),
    context: upTo(12),
    data: upTo(12),
    pipeline: upTo(12),
    chunks: upTo(4),
    expert: upTo(12),
    expertTensor: upTo(4),
    shards: fc.option(upTo(12), { nil: undefined }),
    algorithm: fc.constantFrom('ring', 'ulysses', 'ulysses-ring'),
    ulyssesDegree: upTo(6),
  })
  .map((any): ParallelLayout => ({
    ...aLayout({
      tensorParallelDegree: any.tensor,
      contextParallelDegree: any.context,
      dataParallelDegree: any.data,
      pipelineParallelDegree: any.pipeline,
      pipeline: { chunksPerRank: any.chunks },
      sequence: { contextAlgorithm: any.algorithm, ulyssesDegree: any.ulyssesDegree },
      expert: { expertParallelDegree: any.expert, expertTensorParallelDegree: any.expertTensor },
    }),
    ...(any.shards === undefined ? {} : { dataParallelShardDegree: any.shards }),
  }));
const anyFacts: fc.Arbitrary<LayoutFacts> = fc
  .record({ layers: upTo(48), attentionHeads: upTo(48), groups: upTo(8), sequenceLength: upTo(512), batch: upTo(96) })
  .map(({ layers, attentionHeads, groups, sequenceLength, batch }) => ({
    layers,
    attentionHeads: attentionHeads * groups,
    keyValueHeads: groups,
    ffnHiddenSize: attentionHeads * 12,
    sequenceLength,
    globalBatchSize: batch,
    microBatchSize: 1,
    experts: { count: 24, topK: 2, ffnHiddenSize: 60 },
  }));

describe('the fast question of a search', () => {
  it('has the answer of the rules of degrees, for any degrees', () => {
    fc.assert(
      fc.property(anyLayout, (layout) => {
        const known = { ...DENSE, ...EIGHT_EXPERTS };
        const ofDegrees = new Set(gridRules.map((rule) => rule.name));
        const broken = layoutViolations(layout, known).filter((violation) => ofDegrees.has(violation.rule));
        expect(isLegalGrid(gridPointOf(layout, known), known)).toBe(broken.length === 0);
      }),
    );
  });
});

describe('the first broken rule', () => {
  it('is the first of all that are broken, for any degrees', () => {
    let broken = 0;
    fc.assert(
      fc.property(anyLayout, anyFacts, (layout, facts) => {
        const [first] = layoutViolations(layout, facts);
        broken += first === undefined ? 0 : 1;
        expect(firstViolation(layout, facts)).toEqual(first);
      }),
    );
    expect(broken).toBeGreaterThan(10);
  });

  it.each<[sentence: string, layout: Partial<ParallelLayout>]>([
    ['where an option alone is at fault', { states: { implementation: 'ddp', zeroStage: 1 } }],
    ['where nothing is', {}],
    ['where all there is to say is advice', { contextParallelDegree: 2, sequence: { contextAlgorithm: 'ring' } }],
  ])('is what stands first of them %s', (_sentence, layout) => {
    const known = { ...DENSE, engine: 'megatron-lm' } as const;
    expect(firstViolation(aLayout(layout), known)).toEqual(layoutViolations(aLayout(layout), known)[0]);
  });
});

/** Which number of a point a field is. */
const PART_OF_FIELD: Readonly<Record<string, keyof GridPoint>> = {
  tensorParallelDegree: 'tensor',
  contextParallelDegree: 'context',
  pipelineParallelDegree: 'pipeline',
  dataParallelDegree: 'data',
  dataParallelShardDegree: 'shardGroup',
  'expert/expertParallelDegree': 'expert',
  'expert/expertTensorParallelDegree': 'expertTensor',
  'sequence/ulyssesDegree': 'ulyssesDegree',
};
const NAMED = /(?<!first; )the nearest (?:\w+ )?that (?:does )?is (\d+)/;

describe('the nearest legal degree that a rule names', () => {
  it('keeps the rule, and none is nearer', () => {
    let named = 0;
    fc.assert(
      fc.property(anyLayout, anyFacts, (layout, facts) => {
        const point = gridPointOf(layout, facts);
        const { tensor } = point;
        // Where heads cannot be divided by tensor at all, the rules of context have no whole number to name.
        fc.pre((facts.attentionHeads ?? 1) % tensor === 0 && (facts.keyValueHeads ?? 1) % tensor === 0);
        for (const rule of gridRules.filter(({ holds }) => !holds(point, facts))) {
          const { field, message } = rule.explain(point, facts);
          const nearest = Number(NAMED.exec(message)?.[1]);
          const part = PART_OF_FIELD[field];
          if (Number.isNaN(nearest) || part === undefined) continue;
          named += 1;
          const given = Number(point[part]);
          const keeps = (degree: number): boolean => rule.holds({ ...point, [part]: degree }, facts);
          expect({ message, kept: keeps(nearest) }).toEqual({ message, kept: true });
          for (let degree = 1; degree < 2 * given + nearest; degree++) {
            const isNearer = Math.abs(degree - given) < Math.abs(nearest - given);
            if (isNearer) expect({ message, degree, kept: keeps(degree) }).toEqual({ message, degree, kept: false });
          }
        }
      }),
      { numRuns: 500 },
    );
    expect(named).toBeGreaterThan(500);
  });
});
