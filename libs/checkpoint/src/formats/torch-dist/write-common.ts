/** Writes what Megatron-LM keeps beside the tensors of a save. */
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

const OF_WEIGHTS_ALONE = {
  dict: [
    ['checkpoint_version', 3],
    // No training has come this far: Megatron-LM begins with these weights.
    ['iteration', 0],
    // The gate and the up projection are one tensor.
    ['content_metadata', { dict: [['singleton_local_shards', false]] }],
  ],
} as const;

/** The last one makes the save complete. `common`: the file of that name; undefined: the save is one of weights alone. */
export function torchDistCommon(
  crc32: Crc32,
  common = torchSaveValue(OF_WEIGHTS_ALONE, crc32),
): readonly (readonly [path: string, bytes: Uint8Array])[] {
  return [
    [COMMON_FILE, common],
    [INDEX_FILE, new TextEncoder().encode(JSON.stringify(INDEX))],
  ];
}
