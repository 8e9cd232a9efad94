/** Context-parallel algorithms for a model. */
import { servesSoftmax, softmaxOf, type ModelShape } from '@coxswain/layout';
import { CONTEXT_ALGORITHMS, type AllowedChoices, type PinnedAxes } from '../contract.ts';
import type { CandidateLayout } from '../facts.ts';

interface Asked {
  readonly model: ModelShape;
  readonly flashAttention: boolean;
  readonly pinned: Pick<PinnedAxes, 'context' | 'contextAlgorithm'>;
  readonly allow: Pick<AllowedChoices, 'contextAlgorithms'>;
}

/** The pinned value, else the allowed choices. */
export function choicesOf<T>(
  pinned: T | undefined,
  allowed: readonly T[] | undefined,
  all: readonly T[],
): readonly T[] {
  if (pinned !== undefined) return [pinned];
  return allowed === undefined ? all : all.filter((choice) => allowed.includes(choice));
}

/**
 * The algorithms that can split samples over `context` ranks; may be empty. Ring and all-gather need fused kernels, because they merge partial softmaxes.
 * Attention without a fused kernel needs Ulysses.
 */
export function contextAlgorithmsOf(asked: Asked, context: number): readonly CandidateLayout['contextAlgorithm'][] {
  if (context === 1) return ['ring'];
  const { model, flashAttention, pinned, allow } = asked;
  const choices = choicesOf(pinned.contextAlgorithm, allow.contextAlgorithms, CONTEXT_ALGORITHMS);
  const isPinned = pinned.contextAlgorithm !== undefined || pinned.context !== undefined;
  const possible = flashAttention || isPinned ? choices : choices.filter((algorithm) => algorithm === 'ulysses');
  const serving = possible.filter((algorithm) => servesSoftmax(algorithm, softmaxOf(model)));
  return serving.length === 0 ? possible : serving;
}
