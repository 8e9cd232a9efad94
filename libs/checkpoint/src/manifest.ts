import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

const ManifestFile = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^(?!\/)(?!.*(^|\/)\.\.(\/|$)).*$/, 'must be relative to the manifest and must not contain ".."'),
  bytes: counter,
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')
    .optional()
    .describe('Absent: of a file that was too large to be read once more by the launcher that wrote the manifest.'),
});

/** The manifest of a checkpoint. Engines can add fields; unknown fields are ignored. */
export const CheckpointManifest = z
  .object({
    formatVersion: z.literal(1),
    engine: z.string().min(1).max(64),
    format: z.string().min(1).max(64).describe('On-disk format, e.g. torch_dcp.'),
    step: counter,
    tokensSeen: counter.optional().describe('Absent: an engine saved it that does not tell.'),
    layout: ParallelLayout.describe('Layout it was saved at.'),
    model: z
      .looseObject({ layers: counter, hiddenSize: counter, attentionHeads: counter, sequenceLength: counter })
      .optional()
      .describe(
        'Shape it belongs to, with what else the engine needs to know of it. Absent: the engine keeps it itself.',
      ),
    training: z.record(z.string(), z.unknown()).describe('Settings it was trained with, as the engine names them.'),
    files: z
      .array(ManifestFile)
      .min(1)
      .max(1_000_000)
      .refine((files) => new Set(files.map(({ path }) => path)).size === files.length, 'must list each file once'),
  })
  .meta({ id: 'CheckpointManifest' });
/** See the schema of the same name. */
export type CheckpointManifest = z.infer<typeof CheckpointManifest>;
