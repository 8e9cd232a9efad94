import { z } from 'zod';
import type { LayoutEngine } from './layout-facts.ts';

/** Documents that share a sample. */
export const SequencePacking = z
  .strictObject({
    meanTokens: z
      .int()
      .min(1)
      .max(16_777_216)
      .optional()
      .describe('Mean length of a document. Absent: attention is priced as if each sample were one document.'),
  })
  .meta({
    id: 'SequencePacking',
    description: 'Documents are packed into samples, and no token attends to another document.',
  });
export type SequencePacking = z.infer<typeof SequencePacking>;

/**
 * The length of the documents within which tokens attend: at most the sample. Undefined if attention spans the sample, or if the length is unknown.
 * Documents are priced as equally long; if their lengths differ, attention takes longer.
 */
export function resolveDocumentTokens(
  packing: SequencePacking | undefined,
  sequenceLength: number,
): number | undefined {
  const { meanTokens } = packing ?? {};
  return meanTokens === undefined || meanTokens >= sequenceLength ? undefined : meanTokens;
}

const IN_MEGATRON =
  'its causal attention kernels of Transformer Engine ignore document masks, so tokens would attend to other documents';
const OF_FLAVOURS = 'its model flavours mask causally over the whole sample';
const OF_ONE_TEXT = 'it reads the bytes of one text, which has no documents';

const WITHOUT_PACKING: Readonly<Partial<Record<LayoutEngine, string>>> = {
  'megatron-lm': IN_MEGATRON,
  'megatron-bridge': IN_MEGATRON,
  'torchtitan-toml': OF_FLAVOURS,
  reference: OF_ONE_TEXT,
};

/** Why the attention of an engine does not stay within documents; undefined if it does, or if the program of the user decides. */
export function whyNoPacking(engine: LayoutEngine, release?: string): string | undefined {
  const isToml = engine === 'torchtitan' && /^v?0\.[012]\b/.test(release ?? '');
  return WITHOUT_PACKING[isToml ? 'torchtitan-toml' : engine];
}

/** What to do where an engine does not keep attention within documents. */
export const WITH_PACKING =
  'use engine torchtitan (v0.3.0 or later), hugging-face with a script of TRL, or custom, whose program reads job.json; or remove training.packing';
