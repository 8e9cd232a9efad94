import fc from 'fast-check';
import {
  gridRules,
  type LayoutFacts,
  layoutFindings,
  layoutRules,
  layoutViolations,
  type ParallelLayout,
} from './index.ts';
import { gridPointOf } from './grid-point.ts';
import { isLegalGrid } from './rules/grid-rules.ts';
import { aLayout } from './testing/index.ts';

const facts: LayoutFacts = {
  layers: 32,
  hiddenSize: 4096,
  ffnHiddenSize: 14_336,
  attentionHeads: 32,
  keyValueHeads: 8,
  headDim: 128,
  vocabularySize: 128_256,
  sequenceLength: 8192,
  globalBatchSize: 64,
  microBatchSize: 1,
};
const moe = { experts: { count: 8, topK: 2, ffnHiddenSize: 14_336 } };
const mamba = { stateSpace: { heads: 128, groups: 8 } };

interface Case {
  readonly rule: string;
  readonly layout: Partial<ParallelLayout>;
  readonly facts?: LayoutFacts;
  readonly message: string;
}

const cases: readonly Case[] = [
  {
    rule: 'tensorDividesAttentionHeads',
    layout: { tensorParallelDegree: 4 },
    facts: { attentionHeads: 30, keyValueHeads: 32 },
    message: 'tensorParallelDegree 4 does not divide attentionHeads 30; the nearest that does is 3',
  },
  {
    rule: 'tensorDividesHiddenSize',
    layout: { tensorParallelDegree: 8 },
    facts: { hiddenSize: 4100 },
    message: 'tensorParallelDegree 8 does not divide hiddenSize 4100; the nearest that does is 10',
  },
  {
    rule: 'tensorFitsKeyValueHeads',
    layout: { tensorParallelDegree: 4 },
    facts: { keyValueHeads: 6 },
    message: 'tensorParallelDegree 4 neither divides keyValueHeads 6 nor is a multiple of them; the nearest that is 3',
  },
  {
    rule: 'tensorDividesFfnHiddenSize',
    layout: { tensorParallelDegree: 4 },
    facts: { ffnHiddenSize: 14_337 },
    message: 'tensorParallelDegree 4 does not divide ffnHiddenSize 14337; the nearest that does is 3',
  },
  {
    rule: 'tensorDividesStateSpaceHeads',
    layout: { tensorParallelDegree: 4 },
    facts: { stateSpace: { heads: 126, groups: 8 } },
    message: 'tensorParallelDegree 4 does not divide stateSpace.heads 126; the nearest that does is 3',
  },
  {
    rule: 'tensorDividesStateSpaceGroups',
    layout: { tensorParallelDegree: 16 },
    facts: mamba,
    message: 'tensorParallelDegree 16 does not divide stateSpace.groups 8; the nearest that does is 8',
  },
  {
    rule: 'contextDividesStateSpaceHeads',
    layout: { tensorParallelDegree: 8, contextParallelDegree: 32 },
    facts: mamba,
    message:
      'contextParallelDegree 32 does not divide stateSpace.heads / tensorParallelDegree 16; the nearest that does is 16',
  },
  {
    rule: 'contextDividesSequence',
    layout: { contextParallelDegree: 4 },
    facts: { sequenceLength: 8191 },
    message:
      'contextParallelDegree 4 cuts a sample into 8 pieces, which do not divide sequenceLength 8191; the nearest contextParallelDegree that does is 1, the nearest sequenceLength 8192',
  },
  {
    rule: 'sequenceParallelDividesSequence',
    layout: { tensorParallelDegree: 8, sequence: { sequenceParallel: true } },
    facts: { sequenceLength: 8190 },
    message:
      'sequence.sequenceParallel needs sequenceLength 8190 to be a multiple of tensorParallelDegree 8 times contextParallelDegree 1; the nearest is 8192',
  },
  {
    rule: 'ulyssesDividesHeads',
    layout: { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses' } },
    message:
      'contextParallelDegree 16 with contextAlgorithm ulysses does not divide attentionHeads 32 and keyValueHeads 8; the largest of its divisors that does is 8, or use contextAlgorithm ulysses-ring with ulyssesDegree 8 and a ring of 2',
  },
  {
    rule: 'ulyssesDividesHeads',
    layout: { contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } },
    facts: { attentionHeads: 33, keyValueHeads: 33, hiddenSize: 4224 },
    message:
      'contextParallelDegree 8 with contextAlgorithm ulysses does not divide attentionHeads 33 and keyValueHeads 33; the largest of its divisors that does is 1, or use contextAlgorithm ring',
  },
  {
    rule: 'ulyssesRingFactors',
    layout: { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses-ring' } },
    message:
      'sequence.ulyssesDegree (absent) must divide contextParallelDegree 16 and attentionHeads 32 and keyValueHeads 8; the nearest that does is 8',
  },
  {
    rule: 'pipelineDividesLayers',
    layout: { pipelineParallelDegree: 5 },
    message: 'pipelineParallelDegree 5 does not divide layers 32; the nearest that does is 4',
  },
  {
    rule: 'pipelineDividesLayers',
    layout: { pipelineParallelDegree: 8, pipeline: { chunksPerRank: 3 } },
    message:
      'pipelineParallelDegree 8 times pipeline.chunksPerRank 3 is 24, which does not divide layers 32; no pipelineParallelDegree does with that many chunks: list pipeline.stages',
  },
  {
    rule: 'pipelineDividesLayers',
    layout: { pipelineParallelDegree: 4, pipeline: { vocabulary: 'counted-as-layer' } },
    message: 'pipelineParallelDegree 4 does not divide layers 32 plus 2 for the vocabulary; the nearest that does is 2',
  },
  {
    rule: 'stagesCoverModel',
    layout: { pipelineParallelDegree: 2, pipeline: { stages: [{ layers: 16 }, { layers: 15 }] } },
    message: 'pipeline.stages hold 31 layers and the model has 32; the last stage should hold 16',
  },
  {
    rule: 'stagesCoverModel',
    layout: { pipelineParallelDegree: 4, pipeline: { stages: [{ layers: 16 }, { layers: 16 }] } },
    message: 'pipeline.stages lists 2 stages; pipelineParallelDegree 4 times chunksPerRank 1 needs 4',
  },
  {
    rule: 'stagesBeginWithEmbeddingAndEndWithLoss',
    layout: { pipelineParallelDegree: 2, pipeline: { stages: [{ layers: 16 }, { layers: 16, embedding: true }] } },
    message:
      'pipeline.stages place the embedding in stage 1 and the loss in no stage, and 0 of 0 MTP layers; the embedding belongs in stage 0, the loss in stage 1, and every MTP layer in one of them',
  },
  {
    rule: 'chunksNeedPipeline',
    layout: { pipeline: { chunksPerRank: 2 } },
    message: 'pipeline.chunksPerRank 2 needs pipelineParallelDegree 2 or more; without a pipeline it is 1',
  },
  {
    rule: 'scheduleTakesChunks',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'zbv', chunksPerRank: 4 } },
    message:
      'pipeline.chunksPerRank 4 does not go with schedule zbv, which takes 2; the nearest is 2, or use schedule interleaved-1f1b',
  },
  {
    rule: 'microBatchesFillGroups',
    layout: { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2 } },
    facts: { globalBatchSize: 6 },
    message:
      '6 micro-batches do not go through groups of 4 on 4 stages: a group must be between 4 and 6, and what is left over none or at least 4; the nearest group is 6, the nearest number of micro-batches 4',
  },
  {
    rule: 'microBatchesFillGroups',
    layout: { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2 } },
    facts: { globalBatchSize: 2 },
    message:
      '2 micro-batches do not go through groups of 4 on 4 stages: a group must be between 4 and 2, and what is left over none or at least 4; at least 4 micro-batches are needed, or use schedule 1f1b',
  },
  {
    rule: 'dualpipeHasMicroBatches',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'dualpipe-v', chunksPerRank: 2 } },
    facts: { globalBatchSize: 4 },
    message:
      'pipeline.schedule dualpipe-v needs at least 8 micro-batches and has 4; the nearest globalBatchSize that gives them is 8, or use schedule zbv',
  },
  {
    rule: 'dataTimesMicroBatchDividesGlobalBatch',
    layout: { dataParallelDegree: 3 },
    message:
      'dataParallelDegree 3 times microBatchSize 1 is 3, which does not divide globalBatchSize 64; the nearest dataParallelDegree that does is 2',
  },
  {
    rule: 'dataTimesMicroBatchDividesGlobalBatch',
    layout: { dataParallelDegree: 2, weightShardDegree: 3 },
    message:
      'dataParallelDegree 2 times weightShardDegree 3 times microBatchSize 1 is 6, which does not divide globalBatchSize 64; microBatchSize 1 alone does not divide it either; change one of the batch sizes',
  },
  {
    rule: 'shardDegreeDividesDataRanks',
    layout: { dataParallelDegree: 8, dataParallelShardDegree: 3 },
    message:
      'dataParallelShardDegree 3 does not divide dataParallelDegree 8 times contextParallelDegree 1, 8; the nearest that does is 2',
  },
  {
    rule: 'expertGridFillsStage',
    layout: {
      pipelineParallelDegree: 8,
      dataParallelDegree: 8,
      expert: { expertParallelDegree: 64, expertTensorParallelDegree: 1 },
    },
    facts: { experts: { count: 64, topK: 2 } },
    message:
      'expert.expertParallelDegree 64 times expertTensorParallelDegree 1 is 64, which does not divide the 8 ranks of a pipeline stage; the nearest expertParallelDegree that does is 8',
  },
  {
    rule: 'expertParallelDividesExperts',
    layout: { dataParallelDegree: 16, expert: { expertParallelDegree: 16 } },
    facts: moe,
    message: 'expert.expertParallelDegree 16 does not divide experts.count 8; the nearest that does is 8',
  },
  {
    rule: 'expertParallelDividesExperts',
    layout: { dataParallelDegree: 8, expert: { expertParallelDegree: 8 } },
    message: 'expert.expertParallelDegree 8 needs a model with experts; this one has none, so leave expert out',
  },
  {
    rule: 'expertTensorDividesExpertFfn',
    layout: { dataParallelDegree: 4, expert: { expertParallelDegree: 1, expertTensorParallelDegree: 4 } },
    facts: { experts: { count: 8, topK: 2, ffnHiddenSize: 1407 } },
    message:
      'expert.expertTensorParallelDegree 4 does not divide experts.ffnHiddenSize 1407; the nearest that does is 3',
  },
  {
    rule: 'vocabularyShardsOverPipeline',
    layout: {
      tensorParallelDegree: 8,
      pipelineParallelDegree: 8,
      pipeline: { vocabulary: 'sharded-over-pp' },
    },
    facts: { vocabularySize: 50_257 },
    message:
      'pipeline.vocabulary sharded-over-pp needs vocabularySize 50257 to be a multiple of tensorParallelDegree 8 times pipelineParallelDegree 8, 64; pad it to 50304',
  },
  {
    rule: 'vocabularyShardsOverPipeline',
    layout: { pipelineParallelDegree: 8, pipeline: { vocabulary: 'sharded-over-pp' } },
    facts: { tiedEmbeddings: true },
    message: 'pipeline.vocabulary sharded-over-pp needs untied embeddings; with tiedEmbeddings use counted-as-layer',
  },
  {
    rule: 'worldSizeWithinLimit',
    layout: { tensorParallelDegree: 8, dataParallelDegree: 8192 },
    facts: { globalBatchSize: 8192 },
    message:
      'the product of the degrees is 65536 GPUs; at most 32768 are supported, so the largest dataParallelDegree is 4096',
  },
  {
    rule: 'degreesMakeTheGpus',
    layout: { tensorParallelDegree: 8, dataParallelDegree: 2 },
    facts: { gpus: 64 },
    message: 'the degrees make 16 ranks and there are 64 GPUs; dataParallelDegree 8 makes it 64',
  },
  {
    rule: 'rankOrderNamesEveryAxis',
    layout: { tensorParallelDegree: 2, dataParallelDegree: 2, rankOrder: ['tensor', 'context', 'expert', 'pipeline'] },
    message: 'rankOrder leaves out data; the nearest order that does not is tensor, context, expert, pipeline, data',
  },
  {
    rule: 'expertsShareThePipeline',
    layout: {
      tensorParallelDegree: 2,
      dataParallelDegree: 4,
      pipelineParallelDegree: 2,
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
      rankOrder: ['tensor', 'context', 'expert', 'pipeline', 'data'],
    },
    facts: moe,
    message:
      'rankOrder puts data behind pipeline, and experts have 1 replicas where dense layers have 4; put pipeline last, or make expertParallelDegree times expertTensorParallelDegree 2',
  },
  {
    rule: 'linearAttentionDividesHeads',
    layout: { contextParallelDegree: 64, sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 8 } },
    facts: { layerPattern: 'LLLA' },
    message:
      'tensorParallelDegree 1 times contextParallelDegree 64 does not divide attentionHeads 32 of the linear-attention layers; the nearest contextParallelDegree that does is 32, or use sequence.perLayerKind.linearAttention state-allgather',
  },
  {
    rule: 'stateAlgorithmsServeLinearLayers',
    layout: { contextParallelDegree: 4, sequence: { contextAlgorithm: 'state-allgather' } },
    message:
      'the model has attention layers, which need keys and values of other ranks; contextAlgorithm state-allgather moves only states. Set sequence.perLayerKind.attention to allgather (LASP-2H)',
  },
  {
    rule: 'stateAlgorithmsServeLinearLayers',
    layout: { contextParallelDegree: 4, sequence: { contextAlgorithm: 'ring' } },
    facts: { layerPattern: 'LLLA' },
    message:
      'contextAlgorithm ring moves keys and values, and linear-attention layers have a state instead; set sequence.perLayerKind.linearAttention to state-allgather',
  },
  {
    rule: 'slidingMaskAvoidsRing',
    layout: { contextParallelDegree: 4, kernel: { attentionMask: 'sliding' } },
    message: 'kernel.attentionMask sliding does not go with contextAlgorithm ring; use allgather or ulysses',
  },
  {
    rule: 'otherSoftmaxNeedsUlysses',
    layout: { contextParallelDegree: 4, kernel: { softmax: 'learnable' } },
    message: 'kernel.softmax learnable does not go with contextAlgorithm ring; use ulysses',
  },
  {
    rule: 'flashAttentionTakesHeadDim',
    layout: { kernel: { attention: 'flash' } },
    facts: { headDim: 512 },
    message: 'kernel.attention flash takes headDim up to 256 and the model has 512; use fused or unfused',
  },
  {
    rule: 'tokenRingStaysInDomain',
    layout: { contextParallelDegree: 16, sequence: { contextAlgorithm: 'token-ring' } },
    facts: { scaleUpDomainGpus: 8 },
    message:
      'contextParallelDegree 16 with contextAlgorithm token-ring needs a fully connected domain, and one has 8 GPUs; the nearest degree is 8, or use contextAlgorithm ring',
  },
  {
    rule: 'dynamicSequencesOnMegatron',
    layout: {
      dataParallelDegree: 8,
      sequence: {
        dynamic: { method: 'hybrid-data-parallel', maxTokensPerRank: 4096, degrees: 'any', perTokenLoss: true },
      },
    },
    facts: { engine: 'megatron-lm' },
    message: 'sequence.dynamic.degrees any is not to be had on megatron-lm; use powers-of-two',
  },
  {
    rule: 'scheduleHasItsOptions',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'graph-chunks', graphChunks: 3 } },
    message: 'pipeline.graphChunks 3 must be at least pipelineParallelDegree 4; the nearest is 4',
  },
  {
    rule: 'protectedStagesLeaveSomeToSkip',
    layout: {
      pipelineParallelDegree: 4,
      pipeline: { schedule: 'partial-paths', scheduleFile: 'schedule.json', skipRatio: 0.5, protectedStages: 3 },
    },
    message: 'pipeline.skipRatio 0.5 of 4 stages is 2, and 1 are not protected; the nearest legal share is 0.25',
  },
  {
    rule: 'topKWithinExperts',
    layout: {},
    facts: { experts: { count: 8, topK: 9 } },
    message: 'experts.topK 9 is more than experts.count 8; the nearest topK is 8',
  },
  {
    rule: 'expertsWithTensorNeedSequenceParallel',
    layout: { tensorParallelDegree: 2 },
    facts: { ...moe, engine: 'megatron-lm' },
    message: 'experts with tensorParallelDegree 2 need sequence.sequenceParallel true on megatron-lm',
  },
  {
    rule: 'adaptiveDegreeDividesSpareRanks',
    layout: { dataParallelDegree: 32, expert: { expertParallelDegree: 8, adaptiveDegree: 3 } },
    facts: moe,
    message: 'expert.adaptiveDegree 3 does not divide 32 ranks / 8 experts, 4; legal are 0, 1, 2, 4, the nearest is 2',
  },
  {
    rule: 'twoLevelAllToAllNeedsFullNodes',
    layout: {
      contextParallelDegree: 2,
      dataParallelDegree: 1,
      tensorParallelDegree: 2,
      expert: { expertParallelDegree: 2, dispatcher: 'alltoall-2d' },
    },
    facts: { ...moe, gpusPerNode: 8 },
    message:
      'expert.dispatcher alltoall-2d needs full nodes, and 4 ranks leave one of 8 GPUs with 4; use alltoall, or 8 ranks',
  },
  {
    rule: 'expertsStayInReplica',
    layout: {
      dataParallelDegree: 16,
      dataParallelShardDegree: 4,
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
    },
    facts: { ...moe, engine: 'torchtitan' },
    message:
      'expert.expertParallelDegree 8 does not divide the 4 ranks of one replica (dataParallelShardDegree times tensorParallelDegree); the nearest that does is 4',
  },
  {
    rule: 'deepspeedExpertsAreAlone',
    layout: {
      dataParallelDegree: 8,
      expert: { expertParallelDegree: 8 },
      states: { zeroStage: 3, implementation: 'deepspeed' },
    },
    facts: { ...moe, engine: 'deepspeed' },
    message: 'states.zeroStage 3 does not go with expert parallelism on deepspeed; the nearest is 2',
  },
  {
    rule: 'deepspeedSequencesAreNotSplitByTensor',
    layout: { tensorParallelDegree: 2, contextParallelDegree: 4, sequence: { contextAlgorithm: 'ulysses' } },
    facts: { engine: 'deepspeed' },
    message: 'contextParallelDegree 4 on deepspeed takes tensorParallelDegree 1 and not 2; or use engine megatron-lm',
  },
  {
    rule: 'interleavedPairNeedsOverlap',
    layout: {
      pipelineParallelDegree: 2,
      pipeline: { chunksPerRank: 2 },
      communication: { overlapPipelineTransfers: false },
    },
    message:
      'communication.overlapPipelineTransfers false with interleaved-1f1b takes pipelineParallelDegree 3 or more and not 2; set it to true',
  },
  {
    rule: 'weightShardsHaveOneInstance',
    layout: { dataParallelDegree: 4, weightShardDegree: 2, states: { optimizerInstances: 2 } },
    message: 'states.optimizerInstances 2 does not go with weightShardDegree 2; the nearest is 1',
  },
  {
    rule: 'implementationHasZeroStage',
    layout: { dataParallelDegree: 8, states: { implementation: 'distributed-optimizer', zeroStage: 3 } },
    message:
      'states.zeroStage 3 is not what distributed-optimizer does (1); the nearest is 1, or use megatron-fsdp or deepspeed',
  },
  {
    rule: 'pipelineKeepsGradients',
    layout: {
      dataParallelDegree: 8,
      pipelineParallelDegree: 4,
      states: { implementation: 'deepspeed', zeroStage: 2 },
    },
    message:
      'states.zeroStage 2 of DeepSpeed shards gradients that a pipeline of 4 stages accumulates; the nearest is 1, or use pipelineParallelDegree 1',
  },
  {
    rule: 'megatronFsdpHasItsFormat',
    layout: {
      dataParallelDegree: 8,
      states: { implementation: 'megatron-fsdp', zeroStage: 3 },
      checkpointPolicy: { format: 'torch_dist' },
    },
    message: 'checkpointPolicy.format torch_dist cannot hold the states of megatron-fsdp; use fsdp_dtensor',
  },
  {
    rule: 'fsdp2OnMegatronIsAlone',
    layout: {
      dataParallelDegree: 8,
      pipelineParallelDegree: 2,
      states: { implementation: 'fsdp2', zeroStage: 3 },
    },
    facts: { engine: 'megatron-lm' },
    message:
      'states.implementation fsdp2 on megatron-lm takes pipelineParallelDegree 1 and expertParallelDegree 1, not 2 and 1; use megatron-fsdp',
  },
  {
    rule: 'secondaryGroupDividesShards',
    layout: {
      dataParallelDegree: 16,
      states: { implementation: 'deepspeed', zeroStage: 3, secondaryShardDegree: 6 },
    },
    message: 'states.secondaryShardDegree 6 does not divide the 16 ranks that share states; the nearest that does is 4',
  },
  {
    rule: 'lowRankNeedsWholeGradients',
    layout: { tensorParallelDegree: 2, states: { optimizer: 'galore', lowRank: { rank: 1024 } } },
    message:
      'states.optimizer galore projects whole gradients, and tensorParallelDegree 2 splits them; the nearest is 1',
  },
  {
    rule: 'zerothOrderOnlyRunsForward',
    layout: { pipelineParallelDegree: 2, states: { optimizer: 'mezo-sgd' } },
    message: 'states.optimizer mezo-sgd takes pipelineParallelDegree 1 and not 2',
  },
  {
    rule: 'layersOffloadAlone',
    layout: {
      memory: {
        offload: [{ what: 'layers', windowLayers: 4 }],
        recompute: { mode: 'full' },
        hostMemoryGibPerGpu: 100,
      },
    },
    message:
      'memory.offload of layers does not go with memory.recompute full; use selective, or offload activations instead',
  },
  {
    rule: 'optimizerOffloadIsPrecisionAware',
    layout: { memory: { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 100 } },
    facts: { engine: 'megatron-lm' },
    message: 'memory.offload of the optimizer needs states.precisionAwareOptimizer true on megatron-lm',
  },
  {
    rule: 'hostMemoryHoldsOffload',
    layout: { memory: { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 300 } },
    facts: { gpusPerNode: 8, hostMemoryGibPerNode: 2048 },
    message: 'memory.hostMemoryGibPerGpu 300 times 8 GPUs is 2400 GiB, and a node has 2048; the most is 256',
  },
  {
    rule: 'hostMemoryHoldsOffload',
    layout: { memory: { offload: [{ what: 'optimizer' }] } },
    message: 'memory.offload needs memory.hostMemoryGibPerGpu: it becomes the memory request of the pod',
  },
  {
    rule: 'perLayerRangesAreLayers',
    layout: {
      perLayer: [
        { firstLayer: 0, lastLayer: 15 },
        { firstLayer: 15, lastLayer: 31 },
      ],
    },
    message: 'perLayer.1: layer 15 is in an earlier range too; begin behind it',
  },
  {
    rule: 'perLayerRangesAreLayers',
    layout: { perLayer: [{ firstLayer: 16, lastLayer: 32 }] },
    message: 'perLayer.0: layers 16 to 32 are no range of a model of 32 layers, counted from 0; the last legal is 31',
  },
  {
    rule: 'smallestDegreesDivideGlobalBatch',
    layout: { tensorParallelDegree: 4, dataParallelDegree: 2, perLayer: [{ tensorParallelDegree: 1 }] },
    facts: { globalBatchSize: 12 },
    message:
      'the layers with the smallest degrees split the batch 8 ways, which do not divide globalBatchSize 12; the nearest number of ways is 6',
  },
  {
    rule: 'groupsAcrossIslandsUseSockets',
    layout: {
      dataParallelDegree: 8,
      pipelineParallelDegree: 2,
      communication: { groupNetwork: { data: 'infiniband', pipeline: 'infiniband' } },
    },
    facts: {
      gpusPerNode: 8,
      islands: [
        { nodes: 1, network: 'infiniband' },
        { nodes: 1, network: 'roce' },
      ],
    },
    message:
      'communication.groupNetwork.pipeline is infiniband, and pipeline groups span islands of different networks; use socket',
  },
  {
    rule: 'checkpointCanBeRestored',
    layout: { tensorParallelDegree: 4 },
    facts: {
      restoreFrom: { layout: aLayout({ tensorParallelDegree: 2, checkpointPolicy: { format: 'torch_dist' } }) },
    },
    message:
      'the checkpoint was saved with tensorParallelDegree 2 and optimizerReshard none, so it is loaded with the same; save with checkpointPolicy.optimizerReshard full to change it',
  },
  {
    rule: 'chattyGroupsStayInDomain',
    layout: { tensorParallelDegree: 16 },
    facts: { keyValueHeads: 16, scaleUpDomainGpus: 8 },
    message: 'tensorParallelDegree 16 is more than the 8 GPUs of an NVLink domain; the nearest inside is 8',
  },
  {
    rule: 'islandsMeetInThePipeline',
    layout: { dataParallelDegree: 16 },
    facts: {
      gpusPerNode: 8,
      islands: [
        { nodes: 1, network: 'infiniband' },
        { nodes: 1, network: 'roce' },
      ],
    },
    message:
      'data groups span islands of different networks and fall back to sockets; put data before pipeline in rankOrder, and make whole pipeline stages fit into an island',
  },
  {
    rule: 'shardingNeedsDataRanks',
    layout: { states: { zeroStage: 1, implementation: 'distributed-optimizer' } },
    message: 'states.zeroStage 1 shares states among 1 rank, which saves nothing',
  },
  {
    rule: 'sequenceParallelNeedsTensor',
    layout: { sequence: { sequenceParallel: true } },
    message: 'sequence.sequenceParallel does nothing with tensorParallelDegree 1',
  },
  {
    rule: 'flashAttentionIsNotRecomputed',
    layout: { kernel: { attention: 'flash' }, memory: { recompute: { mode: 'selective' } } },
    message: 'memory.recompute of core_attn saves nothing with kernel.attention flash; name other modules',
  },
  {
    rule: 'gpipeKeepsEveryMicroBatch',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'gpipe' } },
    message: 'pipeline.schedule gpipe keeps the activations of every micro-batch, 1f1b those of 4',
  },
];

describe('a rule of layouts', () => {
  it.each(cases)('$rule: $message', ({ rule, layout, facts: special, message }) => {
    const found = layoutFindings(aLayout(layout), { ...facts, ...special });
    expect(found.map((finding) => [finding.rule, finding.message])).toEqual([[rule, message]]);
  });

  it('is shown broken by an example here, each of them, and has a name of its own', () => {
    const names = layoutRules.map((rule) => rule.name);
    expect(new Set(cases.map((example) => example.rule))).toEqual(new Set(names));
    expect(new Set(names).size).toBe(names.length);
  });

  it('names a field that the layout has', () => {
    const layout = aLayout({ tensorParallelDegree: 5, pipelineParallelDegree: 3, contextParallelDegree: 3 });
    expect(layoutViolations(layout, facts).map((violation) => violation.field)).toEqual([
      'tensorParallelDegree',
      'tensorParallelDegree',
      'tensorParallelDegree',
      'contextParallelDegree',
      'pipelineParallelDegree',
    ]);
  });
});

describe('a legal layout', () => {
  it.each<[string, Partial<ParallelLayout>, LayoutFacts]>([
    ['of one rank', {}, {}],
    ['of tensor groups larger than the key-value heads', { tensorParallelDegree: 16 }, {}],
    [
      'of ulysses over as many ranks as key-value heads',
      { contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } },
      {},
    ],
    [
      'of ulysses-ring beyond that',
      { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 8 } },
      {},
    ],
    ['of a ring over more ranks than heads', { contextParallelDegree: 64, sequence: { contextAlgorithm: 'ring' } }, {}],
    [
      'of unequal stages that are listed',
      { pipelineParallelDegree: 3, pipeline: { stages: [{ layers: 10 }, { layers: 12 }, { layers: 10 }] } },
      {},
    ],
    [
      'of micro-batches that leave a rest which fills a pipeline',
      { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2, microBatchGroupSize: 30 } },
      {},
    ],
    [
      'of folded experts',
      {
        tensorParallelDegree: 2,
        contextParallelDegree: 2,
        dataParallelDegree: 2,
        pipelineParallelDegree: 2,
        sequence: { sequenceParallel: true },
        expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
      },
      { ...moe, engine: 'megatron-lm' },
    ],
    [
      'of islands that meet in the pipeline',
      { dataParallelDegree: 8, pipelineParallelDegree: 2, communication: { groupNetwork: { pipeline: 'socket' } } },
      {
        gpusPerNode: 8,
        islands: [
          { nodes: 1, network: 'infiniband' },
          { nodes: 1, network: 'roce' },
        ],
      },
    ],
    [
      'that goes on from a checkpoint that any layout reads',
      { tensorParallelDegree: 4 },
      { restoreFrom: { layout: aLayout({ tensorParallelDegree: 2, checkpointPolicy: { optimizerReshard: 'full' } }) } },
    ],
    [
      'of ulysses on DeepSpeed over more ranks than key-value heads',
      { contextParallelDegree: 16, sequence: { contextAlgorithm: 'ulysses' } },
      { engine: 'deepspeed' },
    ],
  ])('%s breaks no rule', (_sentence, layout, special) => {
    expect(layoutFindings(aLayout(layout), { ...facts, ...special })).toEqual([]);
  });

  it('is any whose model and batch are not known', () => {
    expect(layoutFindings(aLayout({ tensorParallelDegree: 7, pipelineParallelDegree: 3 }), {})).toEqual([]);
  });
});

describe('the fast question of a search', () => {
  const ways = fc.integer({ min: 1, max: 12 });
  it('has the answer of the rules of degrees, for any degrees', () => {
    fc.assert(
      fc.property(fc.tuple(ways, ways, ways, ways, ways, ways), ([tensor, context, data, pipeline, chunks, expert]) => {
        const layout = aLayout({
          tensorParallelDegree: tensor,
          contextParallelDegree: context,
          dataParallelDegree: data,
          pipelineParallelDegree: pipeline,
          pipeline: { chunksPerRank: chunks },
          expert: { expertParallelDegree: expert, expertTensorParallelDegree: 1 },
        });
        const known = { ...facts, ...moe };
        const ofDegrees = new Set(gridRules.map((rule) => rule.name));
        const broken = layoutViolations(layout, known).filter((violation) => ofDegrees.has(violation.rule));
        expect(isLegalGrid(gridPointOf(layout, known), known)).toBe(broken.length === 0);
      }),
    );
  });
});
