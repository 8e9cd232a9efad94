import type { TrainedFacts } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import { trainedDifferences, trainedSentence } from './trained-layout.ts';

const DDP = 'torch.nn.parallel.distributed.DistributedDataParallel';
const FSDP = 'torch.distributed.fsdp.FSDPModule';
const REPLICATE = 'torch.distributed._composable.replicate_with_fsdp.ReplicateModule';

function facts(more: Partial<TrainedFacts> = {}): TrainedFacts {
  const seen = { mesh: [], groups: [], wrappers: [], parameterBytes: 400, optimizerBytes: 800 };
  return { worldSize: 4, backend: 'gloo', ...seen, ...more };
}

const differences = (layout: object, more: Partial<TrainedFacts> = {}): readonly string[] =>
  trainedDifferences(ParallelLayout.parse(layout), 0, facts(more));

const fsdp = { dataParallelDegree: 4, states: { zeroStage: 3, implementation: 'fsdp2' } };
const zero1 = { dataParallelDegree: 4, states: { zeroStage: 1 } };

describe('nothing differs', () => {
  it.each<[string, object, Partial<TrainedFacts>]>([
    ['in a training of copies', { dataParallelDegree: 4 }, { wrappers: [DDP] }],
    [
      'where the mesh has the degrees of the layout',
      { tensorParallelDegree: 2, dataParallelDegree: 2 },
      { mesh: [{ name: 'tp', size: 2 }, { name: 'dp_shard', size: 2 }] }, // prettier-ignore
    ],
    [
      'where Megatron-LM has such groups',
      { tensorParallelDegree: 2, pipelineParallelDegree: 2 },
      { groups: [{ name: 'TENSOR_MODEL_PARALLEL_GROUP', size: 2 }, { name: 'PIPELINE_MODEL_PARALLEL_GROUP', size: 2 }] }, // prettier-ignore
    ],
    ['where an engine divides its ranks without a name', { tensorParallelDegree: 2, dataParallelDegree: 2 }, {}],
    ['where states are sharded', fsdp, { wrappers: [FSDP] }],
    [
      'where DeepSpeed shards them in its own way',
      fsdp,
      { wrappers: ['deepspeed.runtime.engine.DeepSpeedEngine', DDP] },
    ],
    ['where an engine wraps in something that nobody knows', fsdp, { wrappers: [] }],
    [
      'where contexts share states as well, and the mesh counts them or not',
      { dataParallelDegree: 2, contextParallelDegree: 2, states: { zeroStage: 3 } },
      { wrappers: [FSDP], mesh: [{ name: 'cp', size: 2 }, { name: 'dp_shard', size: 2 }, { name: 'dp_shard_cp', size: 4 }] }, // prettier-ignore
    ],
    ['where one rank shares with nobody', { ...fsdp, dataParallelDegree: 1 }, { worldSize: 1, wrappers: [DDP] }],
    ['where the optimizer holds its share', zero1, { parameters: 100, optimizedParameters: 31 }],
    ['where its share is uneven', { ...zero1 }, { parameters: 100, optimizedParameters: 80 }],
    ['where parameters are sharded as well', zero1, { wrappers: [FSDP], parameters: 25, optimizedParameters: 25 }],
    ['where no state of an optimizer was seen', zero1, { parameters: 100, optimizedParameters: 0 }],
  ])('%s', (_, layout, more) => {
    expect(differences(layout, more)).toEqual([]);
  });
});

describe('what differs is told', () => {
  it.each<[string, object, Partial<TrainedFacts>, RegExp]>([
    [
      'a smaller world',
      { dataParallelDegree: 8 },
      {},
      /^Rank 0 is in a process group of 4, and the layout is one of 8/,
    ],
    [
      'no group at all',
      { dataParallelDegree: 4 },
      { worldSize: 1, backend: null },
      /^Rank 0 trains without a process group, so by itself, and the layout is one of 4 ranks\.$/,
    ],
    ['FSDP that became DDP', fsdp, { wrappers: [DDP] }, /trains with torch\.nn.*DistributedDataParallel, which keeps a whole copy.*over 4 ranks \(fsdp2, zeroStage 3\)/], // prettier-ignore
    ['FSDP that became a replica', fsdp, { wrappers: [REPLICATE] }, /ReplicateModule, which keeps a whole copy/],
    [
      'a tensor degree that is not in the mesh',
      { tensorParallelDegree: 2, dataParallelDegree: 2 },
      { mesh: [{ name: 'dp_shard', size: 4 }] },
      /^The mesh of rank 0 \(dp_shard 4\) has no dimension for tensor parallelism, and the layout asks for 2\.$/,
    ],
    [
      'states that more ranks share',
      { tensorParallelDegree: 2, dataParallelDegree: 2, states: { zeroStage: 3 } },
      { mesh: [{ name: 'tp', size: 2 }, { name: 'dp_shard', size: 4 }] }, // prettier-ignore
      /^On rank 0, dp_shard has 4 ranks that share states, and the layout shards them over 2\.$/,
    ],
    [
      'another tensor degree',
      { tensorParallelDegree: 4 },
      { mesh: [{ name: 'tp', size: 2 }] },
      /^On rank 0, tp has 2 ranks for tensor parallelism, and the layout asks for 4\.$/,
    ],
    [
      'a pipeline that nobody asked for',
      { dataParallelDegree: 4 },
      { groups: [{ name: 'mesh_pp', size: 2 }] },
      /mesh_pp has 2 ranks for pipeline parallelism, and the layout asks for 1/,
    ],
    [
      'an optimizer that is not sharded',
      zero1,
      { parameters: 100, optimizedParameters: 100 },
      /keeps optimizer states of 100 % of its parameters, and the layout shards them over 4 ranks \(zeroStage 1\)/,
    ],
  ])('%s', (_, layout, more, sentence) => {
    const found = differences(layout, more);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(sentence);
  });

  it('and what is seen, whether or not it differs', () => {
    const mesh = [{ name: 'cp', size: 1 }, { name: 'dp_shard', size: 2 }, { name: 'tp', size: 2 }]; // prettier-ignore
    expect(trainedSentence(0, facts({ mesh, wrappers: [FSDP] }))).toBe(
      'Rank 0 trains with 4 ranks over gloo; mesh dp_shard 2, tp 2; FSDPModule; 400 B of parameters and 800 B of optimizer states on it.',
    );
    expect(trainedSentence(3, facts({ backend: null, groups: [{ name: 'MESH_PP', size: 2 }] }))).toMatch(
      /^Rank 3 trains with no process group; groups MESH_PP 2; 400 B/,
    );
  });

  it('in sentences that are bounded and hold nothing that a terminal obeys, whatever the names are', () => {
    const name = `\u001b[2J${'x'.repeat(60)}`;
    const mesh = Array.from({ length: 32 }, (_, size) => ({ name, size: size + 5 }));
    const wrappers = [`${name.repeat(2)}.DistributedDataParallel`.slice(-128)];
    const found = differences(
      { ...fsdp, tensorParallelDegree: 2 },
      { mesh, wrappers, worldSize: 9_007_199_254_740_991 },
    );
    expect(found).toHaveLength(3);
    const worst = { mesh, wrappers: Array.from({ length: 16 }, () => wrappers[0] ?? ''), backend: name };
    const sentence = trainedSentence(
      1_000_000,
      facts({ ...worst, parameterBytes: 2 ** 53 - 1, optimizerBytes: 2 ** 53 - 1 }),
    );
    for (const one of [...found, sentence]) {
      expect(one.length).toBeLessThanOrEqual(512);
      expect(one).not.toContain('\u001b');
    }
  });
});
