import { assumedTraffic, type GroupTraffic, type LayoutTraffic } from '@coxswain/fabric';
import type { ParallelLayout } from '@coxswain/layout';
import { parsePlanRequest, type PlanRequest } from '@coxswain/planner';
import { layoutTraffic } from './layout-traffic.ts';

interface Asked {
  readonly model: string;
  readonly layout: ParallelLayout;
  readonly gpus: number;
  readonly globalBatchSize: number;
  readonly sequenceLength: number;
}

function trafficOf({ layout, ...asked }: Asked): LayoutTraffic {
  const { gpus, ...rest } = asked;
  const request: PlanRequest = parsePlanRequest({ ...rest, cluster: { gpu: 'h100', gpus } });
  return layoutTraffic(request, { layout, microBatchSize: 1 });
}

const LLAMA: Asked = {
  model: 'llama-3.1-70b',
  layout: {
    tensorParallelDegree: 8,
    contextParallelDegree: 2,
    pipelineParallelDegree: 4,
    dataParallelDegree: 8,
    sequence: { sequenceParallel: true },
    states: { zeroStage: 1 },
  },
  gpus: 512,
  globalBatchSize: 256,
  sequenceLength: 8192,
};

const DEEPSEEK: Asked = {
  model: 'deepseek-v3',
  layout: {
    tensorParallelDegree: 1,
    pipelineParallelDegree: 8,
    dataParallelDegree: 128,
    states: { zeroStage: 1 },
    expert: { expertParallelDegree: 64, expertTensorParallelDegree: 1 },
    pipeline: {
      stages: [7, 8, 8, 8, 8, 8, 8, 6].map((layers, stage) => ({
        layers,
        embedding: stage === 0,
        loss: stage === 7,
        mtpLayers: stage === 7 ? 1 : 0,
      })),
    },
  },
  gpus: 1024,
  globalBatchSize: 4096,
  sequenceLength: 4096,
};

const groupsOf = ({ kind, pattern, groups }: GroupTraffic): string =>
  `${kind} ${pattern} ${groups.length} x ${groups[0]?.length ?? 0}: ${groups[0]?.slice(0, 3).join(' ') ?? ''}`;

describe('traffic of a layout', () => {
  it.each<readonly [sentence: string, asked: Asked, want: readonly string[]]>([
    [
      'is between the groups that the engine makes',
      LLAMA,
      [
        'tensor ring 64 x 8: 0 1 2',
        'context ring 256 x 2: 0 8',
        'data ring 32 x 16: 0 8 16',
        'pipeline chain 128 x 4: 0 128 256',
      ],
    ],
    [
      'has shards and replicas of sharded weights apart',
      {
        ...LLAMA,
        layout: { ...LLAMA.layout, dataParallelShardDegree: 4, states: { zeroStage: 3 } },
      },
      [
        'tensor ring 64 x 8: 0 1 2',
        'context ring 256 x 2: 0 8',
        'data ring 128 x 4: 0 8 16',
        'data ring 128 x 4: 0 32 64',
        'pipeline chain 128 x 4: 0 128 256',
      ],
    ],
    [
      'goes round where stages are interleaved',
      { ...LLAMA, layout: { ...LLAMA.layout, pipeline: { schedule: 'interleaved-1f1b', chunksPerRank: 2 } } },
      [
        'tensor ring 64 x 8: 0 1 2',
        'context ring 256 x 2: 0 8',
        'data ring 32 x 16: 0 8 16',
        'pipeline chain 128 x 4: 0 128 256',
        'pipeline chain 128 x 2: 0 384',
      ],
    ],
    [
      'deals experts out over the grid of their own',
      DEEPSEEK,
      [
        'expert allToAll 16 x 64: 0 1 2',
        'data ring 8 x 128: 0 1 2',
        'expertData ring 512 x 2: 0 64',
        'pipeline chain 128 x 8: 0 128 256',
      ],
    ],
  ])('%s', (_sentence, asked, want) => {
    expect(trafficOf(asked).byKind.map(groupsOf)).toEqual(want);
  });

  it.each([
    ['of Llama 3 70B', LLAMA],
    ['of DeepSeek-V3', DEEPSEEK],
  ])('is what is assumed where nobody names a model, within a tenth: %s', (_sentence, asked) => {
    const planned = trafficOf(asked);
    const assumed = assumedTraffic(asked.layout).byKind;
    // Dense weights of DeepSeek-V3 are few, and its activations small.
    const usual = new Set(asked === LLAMA ? ['tensor', 'context', 'data', 'pipeline'] : ['expert', 'expertData']);
    const ratios = planned.byKind
      .filter(({ kind }) => usual.has(kind))
      .map(({ kind, bytesPerPair }) => [
        kind,
        (assumed.find((one) => one.kind === kind)?.bytesPerPair ?? 0) / bytesPerPair,
      ]);
    expect(ratios).toHaveLength(usual.size);
    for (const [, ratio] of ratios) expect(Math.abs(Number(ratio) - 1)).toBeLessThan(0.1);
  });
});
