/** `torch_dist` of Megatron-LM: PyTorch Distributed Checkpoint files, with Megatron's own index and state beside them. */
import type { CheckpointFormat } from '../checkpoint-format.ts';
import { DCP_INDEX_FILE } from '../dcp/dcp.ts';
import { MANIFEST_FILE } from '../manifest-file.ts';
import { firstMissing } from '../describe-missing.ts';
import { torchDistLoads } from './megatron-loads.ts';

/** Names the format. Written last. */
export const INDEX_FILE = 'metadata.json';
/** The state that all ranks share. Releases since 0.17 save it as {@link COMMON_STATE} instead. */
export const COMMON_FILE = 'common.pt';
/** The object that holds the state that all ranks share. */
export const COMMON_STATE = 'common_state/shard_0_1';

/**
 * Megatron-LM writes `metadata.json`, and then the tracker file, after every rank has written, also when it saves in the background
 * (megatron/training/checkpointing.py). Optimizer state follows the division of the model, unless it was saved as fully reshardable.
 * Local checkpoints of nvidia-resiliency-ext carry the rank in their names.
 */
export const TORCH_DIST = {
  names: ['torch_dist'],
  detect: (paths) => paths.has(INDEX_FILE) && paths.has(DCP_INDEX_FILE),
  indexFile: INDEX_FILE,
  describeMissing: (paths) => firstMissing(paths, [INDEX_FILE]),
  saves: {
    format: 'torch_dist',
    folders: [''],
    directory: /^iter_(\d{7,15})$/,
    pointer: { file: 'latest_checkpointed_iteration.txt', text: /^(\d{1,15})$/ },
  },
  halfWritten: {
    part: /^(?:common\.pt|train_state\.pt|run_config\.yaml|[^/]*__\d+_\d+\.distcp(?:\.tmp)?|\.metadata(?:\.tmp)?|metadata\.json\.tmp)$/,
    markers: [INDEX_FILE, MANIFEST_FILE],
    // torch_dcp and fsdp_dtensor save into folders of this name too. They have no common state, and are complete with `.metadata`.
    own: /^common\.pt$/,
    proof: 'marker',
  },
  rankFile: /(?:^|\/)iter_\d+_(\d{1,6})_local\.pt$/,
  loads: torchDistLoads,
  weights: 'torch_dist',
  megatron: { layoutFormat: 'torch_dist', option: 'torch_dist' },
  engines: [
    { engine: 'megatron-lm', does: ['save', 'start'] },
    { engine: 'megatron-bridge', does: ['save', 'start'] },
  ],
} as const satisfies CheckpointFormat;

/** The tool that converts weights of another format to torch_dist. */
export function torchDistConverter(from: string): string {
  return from === 'safetensors' ? 'AutoBridge of Megatron-Bridge' : 'tools/checkpoint of Megatron-LM';
}
