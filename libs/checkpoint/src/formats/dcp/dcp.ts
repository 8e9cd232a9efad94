/** PyTorch Distributed Checkpoint: `__<rank>_<n>.distcp` files, and `.metadata` that maps tensors to them. */
import type { CheckpointFormat } from '../checkpoint-format.ts';
import { MANIFEST_FILE } from '../manifest-file.ts';
import { firstMissing } from '../describe-missing.ts';

/** Maps tensors to files. Without it the format cannot be loaded. */
export const DCP_INDEX_FILE = '.metadata';

/**
 * PyTorch renames `.metadata` into place after every rank has written (FileSystemWriter.finish), so the file marks a complete save.
 * Tensors are stored by name, so every layout can load them. TorchTitan saves below `dump_folder/checkpoint`.
 * Megatron-LM calls the format torch_dcp, as the reference engine does, and can put a hint before the names of files.
 */
export const DCP = {
  names: ['dcp', 'torch_dcp'],
  detect: (paths) => paths.has(DCP_INDEX_FILE),
  indexFile: DCP_INDEX_FILE,
  describeMissing: (paths) => firstMissing(paths, [DCP_INDEX_FILE]),
  saves: { format: 'dcp', folders: ['', 'checkpoint'], directory: /^step-(\d{1,15})$/ },
  halfWritten: {
    part: /^(?:[^/]*__\d+_\d+\.distcp(?:\.tmp)?|\.metadata\.tmp|manifest\.json\.tmp[^/]*)$/,
    // `__<rank>.metadata`, the index of one rank of a save without collectives, is no part: such a save stays.
    markers: [DCP_INDEX_FILE, MANIFEST_FILE],
    own: /\.distcp(?:\.tmp)?$/,
    proof: 'marker',
  },
  // The second form is the rank-local index of a save without collectives.
  rankFile: /(?:^|\/)(?:[^/]*__(\d{1,6})_\d+\.distcp|__(\d{1,6})\.metadata)$/,
  weights: 'dcp',
  megatron: { layoutFormat: 'torch_dcp', option: 'torch_dcp', isDataParallelOnly: true },
  // The reference engine reports its saves itself.
  alsoLoadedBy: ['reference'],
  engines: [{ engine: 'torchtitan', does: ['save', 'start'] }],
} as const satisfies CheckpointFormat;
