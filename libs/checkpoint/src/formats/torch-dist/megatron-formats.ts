/** Formats that Megatron-LM saves beside torch_dist and torch_dcp. The launcher does not see when such a save is complete. */
import type { CheckpointFormat } from '../checkpoint-format.ts';
import { DCP } from '../dcp/dcp.ts';
import { fsdpDtensorLoads, legacyLoads } from './megatron-loads.ts';

/** DTensors of Megatron-FSDP, in the files of PyTorch Distributed Checkpoint; its keys are not those of torch_dist. */
export const FSDP_DTENSOR = {
  names: ['fsdp_dtensor'],
  // Only its keys tell it from DCP.
  detect: () => false,
  indexFile: DCP.indexFile,
  describeMissing: DCP.describeMissing,
  loads: fsdpDtensorLoads,
  megatron: { layoutFormat: 'fsdp_dtensor', option: 'fsdp_dtensor' },
  engines: [],
} as const satisfies CheckpointFormat;

const MODEL_FILE = /^mp_rank_\d{2}(?:_\d{3}){0,2}\/model_optim_rng\.pt$/;

/** One `torch.save` file for each position in the grid of tensor, pipeline and expert ranks; Megatron-LM calls it torch. */
export const MEGATRON_LEGACY = {
  names: ['legacy'],
  detect: (paths) => [...paths].some((path) => MODEL_FILE.test(path)),
  indexFile: undefined,
  describeMissing: () => undefined,
  loads: legacyLoads,
  megatron: { layoutFormat: 'legacy', option: 'torch', excludesFsdp: true },
  engines: [],
} as const satisfies CheckpointFormat;
