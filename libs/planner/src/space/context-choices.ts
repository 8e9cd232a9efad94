/** By which algorithms can samples be split over ranks? */
import { servesSoftmax, softmaxOf, type ModelShape } from '@coxswain/layout';
import { CONTEXT_ALGORITHMS, type AllowedChoices, type PinnedAxes } from '../contract.ts';
import type { CandidateLayout } from '../facts.ts';

interface Asked {
  readonly model: ModelShape;
  readonly flashAttention: boolean;
  readonly pinned: Pick<PinnedAxes, 'context' | 'contextAlgorithm'>;
  readonly allow: Pick<AllowedChoices, 'contextAlgorithms'>;
}

/** The pinned value alone, or the choices that are allowed. */
export function choicesOf<T>(
  pinned: T | undefined,
  allowed: readonly T[] | undefined,
  all: readonly T[],
): readonly T[] {
  if (pinned !== undefined) return [pinned];
  return allowed === undefined ? all : all.filter((choice) => allowed.includes(choice));
}

/**
 * None where samples cannot be split: ring and all-gather put the softmaxes of parts together by what fused kernels return beside their output; attention
 * that is computed in steps goes with exchanged heads (Ulysses) alone.
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
