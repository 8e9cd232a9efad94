import type { EngineGuide, EngineTrap, FieldMapping } from '../../engine-guide.ts';
import { MEGATRON_GUIDE } from '../megatron-guide.ts';
import { fieldsOfFlag } from './settings.ts';

const OWN: readonly FieldMapping[] = [
  {
    field: 'engine.recipe',
    to: 'the configuration to begin with',
    note: 'called without arguments; what job and layout decide is set over it',
  },
  {
    field: 'engine.command',
    to: 'the program',
    note: 'absent: the rendered one, which is a module for yours too: coxswain_megatron_bridge.configuration',
  },
  {
    field: 'engine.args',
    to: 'section.field=value',
    note: 'laid over what is rendered; what contradicts the job is refused',
  },
  {
    field: 'engine.options',
    to: 'section.field=value',
    note: 'what sets a field is read into it; what contradicts one is refused; the rest is not priced',
  },
  { field: 'layout.dataParallelDegree', to: 'WORLD_SIZE', note: 'what the other degrees leave of it' },
  { field: 'layout.kernel.precision', to: 'mixed_precision', note: 'fp8 is scaled by tensor as it is' },
  { field: 'training.precision', to: 'mixed_precision' },
  { field: 'training.lora', to: 'peft', note: 'needs initialWeights' },
  { field: 'training.seed', to: 'rng.seed, dataset.random_seed', note: '1 or more' },
  { field: 'data.path', to: 'dataset.blend', note: 'prefix of .bin and .idx' },
  { field: 'data.paths', to: 'dataset.blend', note: 'with their weights' },
  { field: 'data.format', to: 'dataset.blend', note: 'none for mock; mock and indexed, others are refused' },
  {
    field: 'resumeFrom',
    to: 'checkpoint.load, checkpoint.ckpt_step',
    note: 'set by the launcher if the ranks resume from a checkpoint',
  },
];

/** Every other field goes where its Megatron-LM flag is set; a field without an equivalent is refused. */
const LIKE_MEGATRON: readonly FieldMapping[] = MEGATRON_GUIDE.fields.flatMap(({ field, to }) => {
  if (OWN.some((own) => own.field === field)) return [];
  const fields = [...new Set(to.split(', ').flatMap((flag) => fieldsOfFlag(flag)))];
  return fields.length === 0 ? [] : [{ field, to: fields.join(', ') }];
});

const BRIDGE = 'NVIDIA-NeMo/Megatron-Bridge v0.3.1, src/megatron/bridge';

const TRAPS: readonly EngineTrap[] = [
  {
    what: 'A recipe brings overlap, recomputation, sharding and a directory of its own, and comm_overlap turns on what the layout leaves out.',
    answer: 'Every field that a layout decides is set, also where the layout leaves it out, and comm_overlap is none.',
    source: `${BRIDGE}/recipes/common.py, training/comm_overlap.py`,
  },
  {
    what: 'fp8 scaling defaults to tensorwise here, and to delayed in Megatron-LM.',
    answer: 'Coxswain sets mixed_precision.fp8_recipe for every 8-bit format.',
    source: `${BRIDGE}/training/mixed_precision.py`,
  },
  {
    what: 'FSDP2 of the core that is pinned takes no pg_collection, which every wrapper is handed.',
    answer: 'states.implementation fsdp2 is refused.',
    source: `${BRIDGE}/models/model_provider.py; NVIDIA/Megatron-LM core_v0.16.1 and core_v0.18.2, megatron/core/distributed/torch_fully_sharded_data_parallel.py`,
  },
  {
    what: 'A learned table of positions is as long as a sample, whatever the model had.',
    answer: 'model.learnedPositions of another length is refused.',
    source: `${BRIDGE}/models/gpt_provider.py (provide)`,
  },
  {
    what: 'The weight decay of the schedule defaults to none, apart from that of the optimizer.',
    answer: 'Coxswain sets both ends of the schedule to it.',
    source: `${BRIDGE}/training/optim.py`,
  },
  {
    what: 'Fields for sequences of variable length exist, and no code reads them.',
    answer: 'sequence.dynamic is refused.',
    source: `${BRIDGE}, no use of hybrid_context_parallel`,
  },
  {
    what: 'Layers that differ, and latent attention, need a specification of the layers that the model does not make by itself.',
    answer: 'The program gives it get_gpt_decoder_block_spec, as its recipes do.',
    source: `${BRIDGE}/models/gpt_provider.py (transformer_engine_layer_spec), models/deepseek`,
  },
  {
    what: 'A recipe of Megatron-Bridge reads its model’s config.json from the Hugging Face hub.',
    answer: 'The image or a claim has to hold it (HF_HOME), or the job gives the model without a recipe.',
    source: `${BRIDGE}/recipes/llama/llama3.py`,
  },
  {
    what: 'Fused products of experts hold gates and linear units interleaved. A save puts the model in order and not its optimizer, so that another layout would load weights of two orders.',
    answer:
      'With kernel.cudaGraphs full beside experts the products are fused only where the job keeps no checkpoint and loads no weights.',
    source:
      'NVIDIA-NeMo/Megatron-Bridge v0.5.1, src/megatron/bridge/training/checkpointing.py (_process_state_dict_for_model_glu_interleaving)',
  },
];

/** The guide of engine `megatron-bridge`. */
export const MEGATRON_BRIDGE_GUIDE: EngineGuide = { fields: [...OWN, ...LIKE_MEGATRON], traps: TRAPS };
