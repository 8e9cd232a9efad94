/** To how many keys does a query attend? Time and model FLOPs both depend on it. */
import type { RunFacts } from '../facts.ts';

type Attended = Pick<RunFacts, 'sequenceLength' | 'documentTokens'>;

/** Tokens among which attention runs: those of a document, else those of the sample. */
export function attendedTokensOf({ sequenceLength, documentTokens = sequenceLength }: Attended): number {
  return Math.min(documentTokens, sequenceLength);
}

/** Keys per query under a causal mask, averaged over layers with and without a window. */
export function meanKeysOf(run: Attended & Pick<RunFacts, 'model'>): number {
  const { model } = run;
  const tokens = attendedTokensOf(run);
  const windowed = model.attentionWindow > 0 ? Math.min(1, model.windowedLayers / model.layers) : 0;
  const window = Math.min(model.attentionWindow, tokens);
  return (1 - windowed) * (tokens / 2) + windowed * (window * (1 - window / (2 * tokens)));
}
