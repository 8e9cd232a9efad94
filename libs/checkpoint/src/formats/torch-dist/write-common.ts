/** Writes what Megatron-LM keeps beside the tensors of a save, for a save of weights alone. */
import type { Crc32 } from '../../read/save-files.ts';
import { torchSaveValue } from '../torch-save/write-value.ts';
import { COMMON_FILE, INDEX_FILE } from './torch-dist.ts';

/** As `megatron.core.dist_checkpointing` names its format. */
const INDEX = {
  sharded_backend: 'torch_dist',
  sharded_backend_version: 1,
  common_backend: 'torch',
  common_backend_version: 1,
};

/** The last one makes the save complete. */
export function torchDistCommon(crc32: Crc32): readonly (readonly [path: string, bytes: Uint8Array])[] {
  const common = {
    dict: [
      ['checkpoint_version', 3],
      // No training has come this far: Megatron-LM begins with these weights.
      ['iteration', 0],
      // The gate and the up projection are one tensor.
      ['content_metadata', { dict: [['singleton_local_shards', false]] }],
    ],
  } as const;
  return [
    [COMMON_FILE, torchSaveValue(common, crc32)],
    [INDEX_FILE, new TextEncoder().encode(JSON.stringify(INDEX))],
  ];
}
