/** Notes on what TorchTitan does differently from what a reader of the job expects. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { ignoredFields } from '../ignored-fields.ts';

interface Note {
  readonly applies: (spec: EffectiveSpec, isToml: boolean) => boolean;
  readonly text: string;
}

const NOTES: readonly Note[] = [
  {
    applies: ({ layout }, isToml) =>
      isToml && layout.tensorParallelDegree > 1 && layout.sequence?.sequenceParallel !== undefined,
    text: 'Norms are always split by tokens where tensors are split.',
  },
  {
    applies: ({ engine, model }) => engine.recipe !== undefined && model !== undefined,
    text: "The recipe's model trains, and is held against layers, sizes, heads and vocabulary of model at its start.",
  },
  {
    applies: ({ layout: { communication } }) =>
      communication?.overlapGradReduce === true || communication?.overlapParamGather === true,
    text: 'FSDP2 always overlaps what it gathers and reduces.',
  },
  {
    applies: ({ layout }) => layout.kernel?.attention !== undefined || layout.kernel?.softmax !== undefined,
    text: 'Attention is as TorchTitan has it by itself.',
  },
  {
    applies: ({ layout }) => layout.checkpointPolicy?.format !== undefined,
    text: 'Checkpoints are always DCP: every layout can load them.',
  },
  {
    applies: ({ layout }) => layout.pipeline?.vocabulary !== undefined,
    text: 'Embedding and output are always on the end stages.',
  },
  {
    applies: ({ layout }) => layout.states?.optimizer !== undefined,
    text: 'The optimizer is always AdamW.',
  },
  {
    applies: ({ engine, training }) => engine.recipe !== undefined && training !== undefined,
    text: "The recipe's optimizer, schedule and batch give way to those of training.",
  },
  {
    applies: ({ model, engine }) =>
      model?.preset === undefined && model?.huggingFace === undefined && engine.recipe === undefined,
    text: 'Sizes alone do not define rotary positions: TorchTitan uses those of Llama 3, without scaling.',
  },
  {
    applies: ({ layout }, isToml) => !isToml && layout.kernel?.attentionMask !== undefined,
    text: 'Attention is causal within each document, never across two.',
  },
  {
    applies: ({ layout }, isToml) => !isToml && (layout.contextParallelDegree ?? 1) > 1,
    text: 'Context-parallel ranks gather keys and values for FlexAttention; nothing travels a ring.',
  },
  {
    applies: ({ layout }) => layout.memory?.offload?.some(({ what }) => what === 'parameters') === true,
    text: 'Gradients and optimizer states are offloaded with the parameters.',
  },
  {
    applies: ({ layout }) => layout.pipelineParallelDegree > 1,
    text: 'Only ranks of the last stage know the loss; other ranks log -1.',
  },
  {
    applies: ({ engine }, isToml) => !isToml && engine.command !== undefined,
    text: 'The module stands in the directory that COXSWAIN_ENGINE_FILES names; the program has to have it on its path.',
  },
  {
    applies: ({ layout }) =>
      layout.communication?.overlapTensorParallel === true ||
      layout.memory?.recompute?.mode === 'budget' ||
      layout.kernel?.precision === 'fp8' ||
      layout.kernel?.precision === 'mxfp8',
    text: 'The model is compiled: what the layout asks for exists in compiled models alone.',
  },
];

/** The notes that apply to a job. */
export function notesOf(spec: EffectiveSpec, isToml: boolean): readonly string[] {
  const applicable = NOTES.filter(({ applies }) => applies(spec, isToml)).map(({ text }) => text);
  return [...applicable, ...packingNote(spec), ...ignoredFields(spec.layout)];
}

/** TorchTitan has no option for it: its models mask so from v0.3.0 on. */
function packingNote({ training }: EffectiveSpec): readonly string[] {
  const { packing } = training ?? {};
  if (packing === undefined) return [];
  const { meanTokens } = packing;
  const priced = meanTokens === undefined ? 'whole samples' : `documents of ${meanTokens} tokens`;
  return [`Documents are packed, and attention stays within each; predictions are for ${priced}.`];
}
