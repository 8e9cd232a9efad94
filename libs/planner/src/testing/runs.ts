/** Models, clusters and runs for tests: small whole numbers, so that what a rule makes of them can be computed by hand. */
import { ModelShape } from '@coxswain/layout';
import type { ClusterFacts, CandidateLayout, RunFacts } from '../facts.ts';
import { gpuOf, modelOf } from '../presets/index.ts';
import type { SpaceFacts } from '../space/search-space.ts';
import { aCandidate } from './candidates.ts';

/** Eight layers of hidden size 16: four heads of 4, two of keys and values, a gated MLP of 32, 64 words. */
export function aModel(overrides: Partial<ModelShape> = {}): ModelShape {
  return {
    ...ModelShape.parse({
      layers: 8,
      hiddenSize: 16,
      ffnHiddenSize: 32,
      attentionHeads: 4,
      keyValueHeads: 2,
      headDim: 4,
      vocabularySize: 64,
      gatedMlp: true,
    }),
    ...overrides,
  };
}

/** Nodes of eight H100 with a 400 Gb/s NIC per GPU; what a node joins is smaller where there are fewer GPUs. */
export function aCluster(gpus: number, overrides: Partial<ClusterFacts> = {}): ClusterFacts {
  return {
    gpu: gpuOf('h100'),
    gpus,
    gpusPerNode: Math.min(8, gpus),
    scaleUpDomainGpus: Math.min(8, gpus),
    scaleOutGbPerS: 50,
    nicKind: 'infiniband',
    ...overrides,
  };
}

interface RunOverrides extends Partial<Omit<RunFacts, 'model' | 'candidate'>> {
  /** A preset by name, or sizes. */
  readonly model?: string | ModelShape;
  readonly candidate?: Partial<CandidateLayout>;
}

/** Megatron-Core in bf16 with fp32 gradients, sixteen samples of eight tokens on as many GPUs as the layout has ranks. */
export function aRun({ model = aModel(), candidate: choices = {}, ...facts }: RunOverrides = {}): RunFacts {
  const candidate = aCandidate(choices);
  return {
    model: typeof model === 'string' ? modelOf(model).model : model,
    cluster: aCluster(candidate.tensor * candidate.context * candidate.pipeline * candidate.data),
    stack: 'megatron-core',
    precision: 'bf16',
    flashAttention: true,
    gradientBytes: 4,
    loraRank: 0,
    candidate,
    globalBatchSize: 16,
    sequenceLength: 8,
    ...facts,
  };
}

/** The full search space on 8 GPUs, with the given fields replaced; samples are long enough for every context degree. */
export function aSpace(overrides: Partial<SpaceFacts> = {}): SpaceFacts {
  return {
    model: aModel(),
    cluster: aCluster(8),
    globalBatchSize: 16,
    sequenceLength: 131_072,
    flashAttention: true,
    pinned: {},
    allow: {},
    ...overrides,
  };
}
