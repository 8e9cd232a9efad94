import type { EngineGuide, EngineTrap, EngineWord } from '../../engine-guide.ts';
import { MEGATRON_GUIDE } from '../megatron-guide.ts';
import { fieldsOfFlag } from './settings.ts';

const OWN: readonly EngineWord[] = [
  {
    word: 'engine.recipe',
    to: 'the configuration to begin with',
    note: 'called without arguments; what job and layout decide is set over it',
  },
  {
    word: 'engine.command',
    to: 'the program',
    note: 'absent: the rendered one, which is a module for yours too: coxswain_megatron_bridge.configuration',
  },
  {
    word: 'engine.args',
    to: 'section.field=value',
    note: 'laid over what is rendered; what contradicts the job is refused',
  },
  { word: 'layout.dataParallelDegree', to: 'WORLD_SIZE', note: 'what the other degrees leave of it' },
  { word: 'layout.kernel.precision', to: 'mixed_precision', note: 'fp8 is scaled by tensor as it is' },
  { word: 'training.precision', to: 'mixed_precision' },
  { word: 'training.seed', to: 'rng.seed, dataset.random_seed', note: '1 or more' },
  { word: 'data.path', to: 'dataset.blend', note: 'prefix of .bin and .idx' },
  { word: 'data.paths', to: 'dataset.blend', note: 'with their weights' },
  { word: 'data.format', to: 'dataset.blend', note: 'none for mock; mock and indexed, others are refused' },
  {
    word: 'resumeFrom',
    to: 'checkpoint.load, checkpoint.ckpt_step',
    note: 'told by the launcher where there is a checkpoint',
  },
];

/** Every other word goes where its flag of Megatron-LM would be set; what has no field here is refused. */
const LIKE_MEGATRON: readonly EngineWord[] = MEGATRON_GUIDE.words.flatMap(({ word, to }) => {
  if (OWN.some((own) => own.word === word)) return [];
  const fields = [...new Set(to.split(', ').flatMap((flag) => fieldsOfFlag(flag)))];
  return fields.length === 0 ? [] : [{ word, to: fields.join(', ') }];
});

const BRIDGE = 'NVIDIA-NeMo/Megatron-Bridge v0.3.1, src/megatron/bridge';

const TRAPS: readonly EngineTrap[] = [
  {
    what: 'A recipe brings overlap, recomputation, sharding and a directory of its own, and comm_overlap turns on what the layout leaves out.',
    answer: 'Every field that a layout decides is set, also where the layout leaves it out, and comm_overlap is none.',
    source: `${BRIDGE}/recipes/common.py, training/comm_overlap.py`,
  },
  {
    what: 'Scaling of fp8 is by tensor unless told, and delayed in Megatron-LM.',
    answer: 'mixed_precision.fp8_recipe is told wherever there is a format in 8 bits.',
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
    what: 'Weight decay of the schedule is none unless told, beside that of the optimizer.',
    answer: 'Both ends of the schedule are told with it.',
    source: `${BRIDGE}/training/optim.py`,
  },
  {
    what: 'Fields for sequences of changing length are there, and nobody reads them.',
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

export const MEGATRON_BRIDGE_GUIDE: EngineGuide = { words: [...OWN, ...LIKE_MEGATRON], traps: TRAPS };
