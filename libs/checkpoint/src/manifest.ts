import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Name of the file that completes a checkpoint: written last, by rename, after every file it lists is on disk. */
export const MANIFEST_FILE = 'manifest.json';

const ManifestFile = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^(?!\/)(?!.*(^|\/)\.\.(\/|$)).*$/, 'must be relative to the manifest and must not contain ".."'),
  bytes: counter,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits'),
});

/** What a saved checkpoint says of itself. Engines may add fields; unknown ones are kept out of the way, not refused. */
export const CheckpointManifest = z
  .object({
    formatVersion: z.literal(1),
    engine: z.string().min(1).max(64),
    format: z.string().min(1).max(64).describe('On-disk format, e.g. torch_dcp.'),
    step: counter,
    tokensSeen: counter,
    layout: ParallelLayout.describe('Layout it was saved at.'),
    model: z
      .looseObject({ layers: counter, hiddenSize: counter, attentionHeads: counter, sequenceLength: counter })
      .describe('Shape it belongs to, with what else the engine needs to know of it.'),
    training: z.record(z.string(), z.unknown()).describe('Settings it was trained with, as the engine names them.'),
    files: z.array(ManifestFile).min(1).max(1_000_000),
  })
  .meta({ id: 'CheckpointManifest' });
export type CheckpointManifest = z.infer<typeof CheckpointManifest>;

/** What a look at the directory found; `path` is relative to it. */
export interface FileOnDisk {
  readonly path: string;
  readonly bytes: number;
  /** Compared where it is given: sizes are cheap, sums are not. */
  readonly sha256?: string;
}

/**
 * Every way in which the files on disk fall short of the manifest, one sentence each, in the manifest's order; empty when it may be
 * restored. Files that the manifest does not list do no harm.
 */
export function manifestViolations(
  manifest: CheckpointManifest,
  filesOnDisk: readonly FileOnDisk[],
): readonly string[] {
  const onDisk = new Map(filesOnDisk.map((file) => [file.path, file]));
  const listed = new Set<string>();
  return manifest.files.flatMap((file) => {
    if (listed.has(file.path)) return [`${file.path} is listed twice`];
    listed.add(file.path);
    return violationOf(file, onDisk.get(file.path)) ?? [];
  });
}

function violationOf(listed: CheckpointManifest['files'][number], found: FileOnDisk | undefined): string | undefined {
  if (found === undefined) return `${listed.path} is missing`;
  if (found.bytes !== listed.bytes) return `${listed.path} has ${found.bytes} bytes instead of ${listed.bytes}`;
  if (found.sha256 !== undefined && found.sha256 !== listed.sha256) return `${listed.path} has another SHA-256`;
  return undefined;
}
