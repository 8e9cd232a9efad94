import { divisorsOf } from '@coxswain/layout';
import { CONTEXT_ALGORITHMS } from '../contract.ts';
import { SCHEDULES, type RankOrder } from '../facts.ts';
import { modelOf } from '../presets/index.ts';
import { aCluster, aModel, aSpace } from '../testing/runs.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  pipelineChoicesOf,
  candidateOfMesh,
  type AlgorithmOf,
  type DenseMesh,
  type SpaceFacts,
} from './search-space.ts';

const ring: AlgorithmOf = () => 'ring';
const meshesOf = (space: SpaceFacts, algorithmOf = ring): readonly DenseMesh[] => [
  ...denseMeshesOf(space, algorithmOf),
];
const upTo = (most: number): readonly number[] => Array.from({ length: most }, (_, index) => index + 1);

const MIXTURE = aModel({
  experts: { count: 6, topK: 2, ffnHiddenSize: 32, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 },
});

describe('divisorsOf', () => {
  it('finds what trying every number finds, in ascending order', () => {
    for (const whole of upTo(200)) {
      expect(divisorsOf(whole)).toEqual(upTo(whole).filter((divisor) => whole % divisor === 0));
    }
  });
});

/** The model of the spaces has so many layers. */
const MOST_STAGES = aSpace().model.layers;

/** Tensor, context, pipeline, data and micro-batch of every mesh, found by trying every number. */
function triedMeshes(gpus: number, globalBatchSize: number): readonly (readonly number[])[] {
  const found: number[][] = [];
  for (const tensor of upTo(gpus)) {
    for (const context of upTo(gpus)) {
      for (const pipeline of upTo(gpus)) {
        for (const data of upTo(gpus)) {
          if (tensor * context * pipeline * data !== gpus || pipeline > MOST_STAGES) continue;
          for (const micro of upTo(64)) {
            const divides = globalBatchSize % (data * micro) === 0;
            if (divides && (micro <= 8 || [16, 32, 64].includes(micro)))
              found.push([tensor, context, pipeline, data, micro]);
          }
        }
      }
    }
  }
  return found;
}

describe('tensor groups', () => {
  const tensors = (space: SpaceFacts): readonly number[] =>
    [...new Set(meshesOf(space).map(({ tensor }) => tensor))].sort((a, b) => a - b);
  const wide = aModel({ attentionHeads: 96, keyValueHeads: 96 });

  it.each<[string, SpaceFacts, readonly number[]]>([
    ['stay in a node of 8 GPUs', aSpace({ cluster: aCluster(64) }), [1, 2, 4, 8]],
    ['fill a node evenly: 3 and 6 of 8 would cross', aSpace({ cluster: aCluster(48) }), [1, 2, 4, 8]],
    ['take a node of several domains whole', aSpace({ cluster: aCluster(16, { scaleUpDomainGpus: 2 }) }), [1, 2, 4, 8]],
    [
      'reach over nodes inside a larger domain',
      aSpace({ model: wide, cluster: aCluster(144, { gpusPerNode: 4, scaleUpDomainGpus: 72 }) }),
      [1, 2, 3, 4, 6, 8, 9, 12, 18, 24, 36, 72],
    ],
    [
      'go where three pinned degrees leave no other',
      aSpace({ cluster: aCluster(16), pinned: { context: 1, pipeline: 1, data: 1 } }),
      [16],
    ],
    ['go where somebody pins them', aSpace({ cluster: aCluster(64), pinned: { tensor: 16 } }), [16]],
  ])('%s', (_, space, want) => {
    expect(tensors(space)).toEqual(want);
  });
});

describe('context algorithms', () => {
  const sinks = aModel({ attentionSinks: true });
  const algorithms = (space: SpaceFacts): readonly string[] => {
    const offered = new Set<string>();
    meshesOf(space, (mesh, among) => {
      among.forEach((one) => offered.add(one));
      return mesh.contextAlgorithm;
    }).forEach(({ context, contextAlgorithm }) => context > 1 && offered.add(contextAlgorithm));
    return [...offered].sort();
  };

  it.each<[string, SpaceFacts, readonly string[]]>([
    ['of a vanilla softmax are all', aSpace(), ['allgather', 'ring', 'ulysses']],
    ['of a learnt softmax are those that split heads', aSpace({ model: sinks }), ['ulysses']],
    [
      'that are pinned stay, for the rules to refuse',
      aSpace({ model: sinks, pinned: { contextAlgorithm: 'ring' } }),
      ['ring'],
    ],
  ])('%s', (_, space, want) => {
    expect(algorithms(space)).toEqual(want);
  });
});

describe('denseMeshesOf', () => {
  it.each([
    [1, 12],
    [4, 8],
    [6, 36],
    [8, 128],
    [12, 24],
    [16, 2400],
  ])('on %d GPUs of one node and a batch of %d are what trying every number finds, in its order', (gpus, batch) => {
    const space = aSpace({
      cluster: aCluster(gpus, { gpusPerNode: gpus, scaleUpDomainGpus: gpus }),
      globalBatchSize: batch,
    });
    const found = meshesOf(space).filter(({ data }) => batch % data === 0);
    const degrees = found.map((mesh) => [mesh.tensor, mesh.context, mesh.pipeline, mesh.data, mesh.microBatchSize]);
    expect(degrees).toEqual(triedMeshes(gpus, batch));
  });

  it('of even divisions only, are those whose tensor divides the heads, pipeline the layers and data the batch', () => {
    const space = aSpace({ model: aModel({ layers: 6 }), cluster: aCluster(12, { gpusPerNode: 12 }) });
    const one = { ...space, globalBatchSize: 12, pinned: { microBatchSize: 1 } };
    const isEven = ({ tensor, pipeline, data }: DenseMesh) => 4 % tensor === 0 && 6 % pipeline === 0 && 12 % data === 0;
    const even = meshesOf({ ...one, allow: { evenOnly: true } });
    expect(even).toEqual(meshesOf(one).filter(isEven));
    expect(even.length).toBeLessThan(meshesOf(one).length);
  });

  it('leave a micro-batch of one to the rules where data parallelism does not divide the batch', () => {
    const meshes = meshesOf(aSpace({ cluster: aCluster(8), globalBatchSize: 6, pinned: { data: 4 } }));
    expect(new Set(meshes.map(({ microBatchSize }) => microBatchSize))).toEqual(new Set([1]));
    expect(meshes.length).toBeGreaterThan(0);
  });

  it.each<[string, SpaceFacts['pinned'], (mesh: DenseMesh) => number | string, number | string]>([
    ['tensor', { tensor: 4 }, ({ tensor }) => tensor, 4],
    ['context', { context: 2 }, ({ context }) => context, 2],
    ['pipeline', { pipeline: 8 }, ({ pipeline }) => pipeline, 8],
    ['data', { data: 2 }, ({ data }) => data, 2],
    ['micro-batch, a divisor or not', { microBatchSize: 5 }, ({ microBatchSize }) => microBatchSize, 5],
    ['rank order', { rankOrder: 'tp-pp-dp-cp' }, ({ rankOrder }) => rankOrder, 'tp-pp-dp-cp'],
    [
      'context algorithm',
      { context: 4, contextAlgorithm: 'ulysses' },
      ({ contextAlgorithm }) => contextAlgorithm,
      'ulysses',
    ],
  ])('keep to a pinned %s', (_, pinned, choiceOf, want) => {
    const meshes = meshesOf(aSpace({ pinned }), () => 'allgather');
    expect(new Set(meshes.map(choiceOf))).toEqual(new Set([want]));
    for (const mesh of meshes) expect(mesh.tensor * mesh.context * mesh.pipeline * mesh.data).toBe(8);
  });

  it('are none where the pinned degrees do not multiply to the GPUs', () => {
    expect(meshesOf(aSpace({ pinned: { tensor: 4, pipeline: 4 } }))).toEqual([]);
    expect(meshesOf(aSpace({ pinned: { tensor: 3 } }))).toEqual([]);
  });

  it('ask for the fastest algorithm where context is divided and several may be chosen, and only there', () => {
    const asked: string[] = [];
    const algorithmOf: AlgorithmOf = (mesh, algorithms) => {
      asked.push(`${mesh.context}: ${algorithms.join(' ')}`);
      return 'ulysses';
    };
    const meshes = meshesOf(aSpace({ pinned: { tensor: 1, pipeline: 1, microBatchSize: 1 } }), algorithmOf);
    expect(meshes.map(({ context, contextAlgorithm }) => [context, contextAlgorithm])).toEqual([
      [1, 'ring'],
      [2, 'ulysses'],
      [4, 'ulysses'],
      [8, 'ulysses'],
    ]);
    expect(asked).toEqual([2, 4, 8].map((context) => `${context}: ${CONTEXT_ALGORITHMS.join(' ')}`));
  });

  it('take the one algorithm that is allowed without asking', () => {
    const space = aSpace({ pinned: { context: 2 }, allow: { contextAlgorithms: ['allgather'] } });
    const never: AlgorithmOf = () => {
      throw new Error('there is nothing to choose');
    };
    expect(new Set(meshesOf(space, never).map(({ contextAlgorithm }) => contextAlgorithm))).toEqual(
      new Set(['allgather']),
    );
  });

  it.each<[string, Partial<SpaceFacts>, readonly (readonly [number, string])[]]>([
    [
      'exchange heads alone',
      {},
      [
        [1, 'ring'],
        [2, 'ulysses'],
        [4, 'ulysses'],
        [8, 'ulysses'],
      ],
    ],
    ['are whole where heads may not be exchanged', { allow: { contextAlgorithms: ['ring'] } }, [[1, 'ring']]],
    [
      'are what was asked for',
      { pinned: { tensor: 1, pipeline: 1, context: 8, contextAlgorithm: 'ring' } },
      [[8, 'ring']],
    ],
  ])('without fused attention samples %s', (_, asked, expected) => {
    const space = aSpace({ flashAttention: false, pinned: { tensor: 1, pipeline: 1 }, cluster: aCluster(8), ...asked });
    const meshes = meshesOf(space, (_mesh, algorithms) => algorithms[0] ?? 'ring');
    expect([...new Map(meshes.map(({ context, contextAlgorithm }) => [context, contextAlgorithm]))]).toEqual(expected);
  });

  const ordersOf = (space: SpaceFacts): readonly RankOrder[] => [
    ...new Set(meshesOf(space).map(({ rankOrder }) => rankOrder)),
  ];
  const crossing = {
    cluster: aCluster(64),
    globalBatchSize: 64,
    pinned: { tensor: 4, context: 2, pipeline: 2, data: 4 },
  };

  it.each<[string, Partial<SpaceFacts>, readonly RankOrder[]]>([
    ['context inside data, the pipeline anywhere', {}, ['tp-cp-dp-pp', 'tp-pp-cp-dp']],
    ['the pipeline outermost where experts fold inside a stage', { model: MIXTURE }, ['tp-cp-dp-pp']],
    ['of those that are allowed', { allow: { rankOrders: ['tp-pp-cp-dp'] } }, ['tp-pp-cp-dp']],
    ['none where context outside data is all that is allowed', { allow: { rankOrders: ['tp-dp-cp-pp'] } }, []],
  ])('order ranks with tensor innermost and %s', (_, overrides, want) => {
    expect(ordersOf(aSpace({ ...crossing, ...overrides }))).toEqual(want);
  });
});

describe('expertGridsOf', () => {
  const pairs = (space: SpaceFacts, tensor: number) =>
    expertGridsOf(space, { tensor }).map(({ expert, expertTensor }) => [expert, expertTensor]);

  it.each<[string, SpaceFacts, number, readonly (readonly number[])[]]>([
    ['one, for a model without experts', aSpace(), 4, [[1, 1]]],
    [
      'every divisor of the experts, each with one and with all tensor ranks',
      aSpace({ model: MIXTURE }),
      4,
      [
        [1, 1],
        [1, 4],
        [2, 1],
        [2, 4],
        [3, 1],
        [3, 4],
        [6, 1],
        [6, 4],
      ],
    ],
    [
      'each once where tensor is one',
      aSpace({ model: MIXTURE }),
      1,
      [
        [1, 1],
        [2, 1],
        [3, 1],
        [6, 1],
      ],
    ],
    ['as pinned', aSpace({ model: MIXTURE, pinned: { expert: 2, expertTensor: 2 } }), 4, [[2, 2]]],
  ])('are %s', (_, space, tensor, want) => {
    expect(pairs(space, tensor)).toEqual(want);
  });
});

describe('pipelineChoicesOf', () => {
  const written = (space: SpaceFacts, pipeline: number): readonly string[] =>
    pipelineChoicesOf(space, { pipeline }).map(
      ({ schedule, chunks, partition }) => `${schedule} ${chunks} ${partition}`,
    );
  const twelve = aModel({ layers: 12 });

  it('are one without a pipeline, whatever is pinned', () => {
    expect(written(aSpace({ pinned: { schedule: 'zbv', partition: 'balanced' } }), 1)).toEqual(['1f1b 1 even']);
  });

  it('hold every schedule with its chunks, cut evenly and balanced', () => {
    const both = (schedule: string) => [`${schedule} even`, `${schedule} balanced`];
    expect(written(aSpace({ model: twelve }), 2)).toEqual(
      [
        'gpipe 1',
        '1f1b 1',
        'interleaved-1f1b 2',
        'interleaved-1f1b 3',
        'interleaved-1f1b 6',
        'zb-h1 1',
        'zb-2p 1',
        'zbv 2',
        'v-half 2',
        'v-min 2',
        'dualpipe-v 2',
      ].flatMap(both),
    );
  });

  it.each<[string, readonly [layers: number, pipeline: number], SpaceFacts['pinned'], readonly string[]]>([
    ['the layers of the fullest stage', [10, 4], {}, ['interleaved-1f1b 3 even']],
    ['no more stages than there are layers and ends of the model', [9, 4], {}, []],
    [
      'a pinned number whatever it leaves empty, so that it is said why',
      [9, 4],
      { chunks: 3 },
      ['interleaved-1f1b 3 even'],
    ],
    ['at most sixteen chunks', [34, 2], {}, []],
    ['one layer per chunk at least', [4, 4], {}, []],
    ['a pinned number, divisor or not', [12, 2], { chunks: 4 }, ['interleaved-1f1b 4 even']],
    ['no pinned number beyond the layers', [12, 2], { chunks: 7 }, []],
    ['and never one, which is 1f1b', [12, 2], { chunks: 1 }, []],
  ])('interleave by %s', (_, [layers, pipeline], pinned, want) => {
    const space = aSpace({
      model: aModel({ layers }),
      pinned: { partition: 'even', ...pinned },
      allow: { schedules: ['interleaved-1f1b'] },
    });
    expect(written(space, pipeline)).toEqual(want);
  });

  it.each<[string, SpaceFacts['pinned'], readonly string[]]>([
    ['one chunk is no V', { chunks: 1, schedule: 'zbv' }, []],
    ['two chunks are no GPipe', { chunks: 2, schedule: 'gpipe' }, []],
    ['two chunks are a V', { chunks: 2, schedule: 'v-half' }, ['v-half 2 even']],
  ])('know how many chunks a schedule runs with: %s', (_, pinned, want) => {
    expect(written(aSpace({ model: twelve, pinned: { ...pinned, partition: 'even' } }), 2)).toEqual(want);
  });

  it('have no V where a rank holds one layer', () => {
    const space = aSpace({ model: aModel({ layers: 4 }), pinned: { partition: 'even' } });
    expect(written(space, 4)).toEqual(['gpipe 1 even', '1f1b 1 even', 'zb-h1 1 even', 'zb-2p 1 even']);
  });

  it('of even divisions only, have chunks that divide the layers and are cut evenly', () => {
    const space = aSpace({ model: aModel({ layers: 10 }), allow: { evenOnly: true, schedules: ['1f1b', 'zbv'] } });
    expect([written(space, 2), written(space, 5)]).toEqual([['1f1b 1 even'], ['1f1b 1 even', 'zbv 2 even']]);
    expect(written(space, 4)).toEqual([]);
  });

  it('cut with embedding and loss in the place of a layer where that is asked for', () => {
    const space = aSpace({ model: twelve, allow: { partitions: ['vocabulary'], schedules: ['1f1b'] } });
    expect(written(space, 2)).toEqual(['1f1b 1 vocabulary']);
  });

  it('name every schedule and no other', () => {
    const schedules = pipelineChoicesOf(aSpace({ model: twelve }), { pipeline: 2 }).map(({ schedule }) => schedule);
    expect([...new Set(schedules)]).toEqual([...SCHEDULES]);
  });
});

describe('candidateOfMesh', () => {
  const mesh: DenseMesh = {
    tensor: 2,
    context: 2,
    pipeline: 2,
    data: 3,
    microBatchSize: 4,
    contextAlgorithm: 'ulysses',
    rankOrder: 'tp-cp-pp-dp',
  };

  it('carries the degrees over and shards over all data and context ranks', () => {
    const candidate = candidateOfMesh({ ...mesh, expert: 6, expertTensor: 1 });
    expect(candidate).toMatchObject({ ...mesh, expert: 6, expertTensor: 1, shardGroup: 3 * 2 });
  });

  it('switches on what an engine should do anyway, and nothing else', () => {
    const candidate = candidateOfMesh({ ...mesh, expert: 1, expertTensor: 1 });
    expect(candidate).toMatchObject({ sequenceParallel: true, overlapGradReduce: true, overlapParamGather: true });
    expect(candidateOfMesh({ ...mesh, tensor: 1, expert: 1, expertTensor: 1 }).sequenceParallel).toBe(false);
    expect(candidate).toMatchObject({ zeroStage: 0, recompute: 'none', overlapTensor: false, cudaGraphs: 'none' });
  });
});

describe('the space of a published model', () => {
  it('of DeepSeek-V3 on 2048 GPUs holds the layout that it was trained with (arXiv 2412.19437, section 3.2)', () => {
    const { model } = modelOf('deepseek-v3');
    const cluster = aCluster(2048);
    const space = aSpace({ model, cluster, globalBatchSize: 15_360, pinned: { tensor: 1, context: 1, pipeline: 16 } });
    expect(meshesOf(space)).toContainEqual(expect.objectContaining({ pipeline: 16, data: 128, microBatchSize: 1 }));
    expect(expertGridsOf(space, { tensor: 1 })).toContainEqual({ expert: 64, expertTensor: 1 });
    expect(pipelineChoicesOf(space, { pipeline: 16 }).map(({ schedule }) => schedule)).toContain('dualpipe-v');
  });
});
