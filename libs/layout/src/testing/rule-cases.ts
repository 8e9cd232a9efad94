/** Tests of layout rules: a layout that breaks one rule, its message, and that each advised change is legal. */
import { type LayoutFacts, layoutFindings, type ParallelLayout } from '../index.ts';
import { aLayout } from './index.ts';

/** The sizes of Llama 3 8B with a batch; a case replaces some of them. */
export const DENSE: LayoutFacts = {
  layers: 32,
  hiddenSize: 4096,
  ffnHiddenSize: 14_336,
  attentionHeads: 32,
  keyValueHeads: 8,
  headDim: 128,
  vocabularySize: 128_256,
  sequenceLength: 8192,
  globalBatchSize: 64,
  microBatchSize: 1,
};
export const EIGHT_EXPERTS: LayoutFacts = { experts: { count: 8, topK: 2, ffnHiddenSize: 14_336 } };
/** Sizes that 3 and 4 both divide, so that either may be the nearest legal degree. */
export const TWELVE_HEADS: LayoutFacts = {
  attentionHeads: 12,
  keyValueHeads: 12,
  hiddenSize: 3072,
  ffnHiddenSize: 12_288,
};
/** Two nodes of eight GPUs with networks of their own. */
export const TWO_ISLANDS: LayoutFacts = {
  gpusPerNode: 8,
  islands: [
    { nodes: 1, network: 'infiniband' },
    { nodes: 1, network: 'roce' },
  ],
};

/** One change that a message advises, applied to the layout and the facts of its case. */
export interface WayOut {
  readonly layout?: Partial<ParallelLayout>;
  readonly without?: 'expert' | 'pipeline' | 'sequence' | 'states' | 'memory' | 'kernel';
  readonly facts?: LayoutFacts;
}

export interface RuleCase {
  readonly rule: string;
  readonly layout: Partial<ParallelLayout>;
  readonly facts?: LayoutFacts;
  readonly message: string;
  /** Everything that the message advises, one by one. */
  readonly waysOut: readonly WayOut[];
}

export type LegalCase = readonly [sentence: string, layout: Partial<ParallelLayout>, facts?: LayoutFacts];

interface ShownRules {
  readonly rules: readonly { readonly name: string }[];
  readonly broken: readonly RuleCase[];
  readonly legal: readonly LegalCase[];
}

/** Declares the tests. Every rule needs a case that breaks it, and every case needs an advised change. */
export function showRules({ rules, broken, legal }: ShownRules): void {
  it.each(broken)('$rule alone is broken: $message', ({ rule, layout, facts, message }) => {
    const found = layoutFindings(aLayout(layout), { ...DENSE, ...facts });
    expect(found.map((finding) => [finding.rule, finding.message])).toEqual([[rule, message]]);
  });

  const waysOut = broken.flatMap((shown) => shown.waysOut.map((way, index) => ({ ...shown, way, index })));
  it.each(waysOut)('$rule is kept by way out $index of: $message', ({ layout, facts, way }) => {
    const mended = aLayout({ ...layout, ...way.layout });
    if (way.without !== undefined) delete mended[way.without];
    expect(layoutFindings(mended, { ...DENSE, ...facts, ...way.facts })).toEqual([]);
  });

  const kept = legal.map(([sentence, layout, facts = {}]) => ({ sentence, layout, facts }));
  it.each(kept)('$sentence: breaks no rule', ({ layout, facts }) => {
    expect(layoutFindings(aLayout(layout), { ...DENSE, ...facts })).toEqual([]);
  });

  it('each of these rules is shown broken, with a way out', () => {
    expect(new Set(broken.map(({ rule }) => rule))).toEqual(new Set(rules.map(({ name }) => name)));
    expect(broken.filter((shown) => shown.waysOut.length === 0)).toEqual([]);
  });
}
