import type { PlanRequestInput } from '../contract.ts';
import { aModel } from '../testing/runs.ts';
import { layoutFactsOf } from './layout-rule-facts.ts';
import { parsePlanRequest } from './parse-plan-request.ts';
import { resolveRequest, runOnGpus, stepsOf, UNNAMED_STACK, type ResolvedRequest } from './resolved-request.ts';

function resolved(
  change: Partial<PlanRequestInput> = {},
  cluster: Partial<PlanRequestInput['cluster']> = {},
): ResolvedRequest {
  const asked: PlanRequestInput = {
    ...('modelShape' in change ? {} : { model: 'llama-3.1-8b' }),
    globalBatchSize: 512,
    sequenceLength: 8192,
    ...change,
    cluster: { gpu: 'h100', gpus: 64, ...cluster },
  };
  return resolveRequest(parsePlanRequest(asked));
}

const clusterOf = (cluster: Partial<PlanRequestInput['cluster']>) => resolved({}, cluster).run.cluster;

describe('the cluster of a request', () => {
  it.each<[string, Partial<PlanRequestInput['cluster']>, object]>([
    [
      'is what the preset says: eight H100 per node, 400 Gb/s each',
      {},
      { gpus: 64, gpusPerNode: 8, scaleUpDomainGpus: 8, scaleOutGbPerS: 400 / 8, nicKind: 'infiniband' },
    ],
    [
      'has racks of 72 where the preset has',
      { gpu: 'gb200-nvl72', gpus: 144 },
      { gpusPerNode: 4, scaleUpDomainGpus: 72 },
    ],
    ['has no link beyond its node on cards in slots', { gpu: 'a10' }, { gpusPerNode: 4, scaleUpDomainGpus: 4 }],
    ['has no node larger than itself', { gpus: 4 }, { gpusPerNode: 4, scaleUpDomainGpus: 4 }],
    [
      'has no NVLink beyond the part of a node that it has',
      { gpusPerNode: 4 },
      { gpusPerNode: 4, scaleUpDomainGpus: 4 },
    ],
    [
      'has the rack’s NVLink also with a part of each node',
      { gpu: 'gb200-nvl72', gpus: 144, gpusPerNode: 2 },
      { gpusPerNode: 2, scaleUpDomainGpus: 72 },
    ],
    ['keeps to what is stated', { gpusPerNode: 4, scaleUpDomainGpus: 32 }, { gpusPerNode: 4, scaleUpDomainGpus: 32 }],
    ['takes a stated network', { scaleOutGbPerS: 12.5, nicKind: 'roce' }, { scaleOutGbPerS: 12.5, nicKind: 'roce' }],
  ])('%s', (_, cluster, want) => {
    expect(clusterOf(cluster)).toMatchObject(want);
  });

  it('has islands only where some are stated', () => {
    expect(clusterOf({})).not.toHaveProperty('islands');
    expect(clusterOf({})).not.toHaveProperty('betweenIslandsGbPerS');
  });

  it('gives islands the network of the cluster where they state none', () => {
    const islands = [{ gpus: 40 }, { gpus: 24, scaleOutGbPerS: 25, nicKind: 'ethernet' as const, relativeSpeed: 0.5 }];
    expect(clusterOf({ islands, betweenIslandsGbPerS: 5 })).toMatchObject({
      betweenIslandsGbPerS: 5,
      islands: [
        { gpus: 40, scaleOutGbPerS: 50, nicKind: 'infiniband', relativeSpeed: 1 },
        { gpus: 24, scaleOutGbPerS: 25, nicKind: 'ethernet', relativeSpeed: 0.5 },
      ],
    });
  });
});

describe('a lone island', () => {
  it.each<[string, Partial<PlanRequestInput['cluster']>, object]>([
    [
      'is the cluster, with its own network',
      { scaleOutGbPerS: 1, islands: [{ gpus: 64, scaleOutGbPerS: 25, nicKind: 'roce' }] },
      { scaleOutGbPerS: 25, nicKind: 'roce' },
    ],
    [
      'that says nothing of its network has that of the cluster',
      { scaleOutGbPerS: 1, islands: [{ gpus: 64 }] },
      { scaleOutGbPerS: 1, nicKind: 'infiniband' },
    ],
  ])('%s', (_, cluster, want) => {
    expect(clusterOf(cluster)).toMatchObject(want);
  });

  it('is also what fewer GPUs leave of several', () => {
    const islands = [{ gpus: 32, scaleOutGbPerS: 25 }, { gpus: 32 }];
    expect(runOnGpus(resolved({}, { gpus: 64, islands }), 32).cluster).toMatchObject({ scaleOutGbPerS: 25 });
    expect(runOnGpus(resolved({}, { gpus: 64, islands }), 48).cluster).toMatchObject({ scaleOutGbPerS: 50 });
  });
});

describe('runOnGpus', () => {
  const islands = [{ gpus: 32 }, { gpus: 16 }, { gpus: 16 }];

  it.each([
    [64, [32, 16, 16]],
    [48, [32, 16]],
    [40, [32, 8]],
    [32, [32]],
    [8, [8]],
  ])('on %d GPUs uses islands of %j: the first ones, the last in part', (gpus, want) => {
    const { cluster } = runOnGpus(resolved({}, { islands }), gpus);
    expect(cluster.gpus).toBe(gpus);
    expect(cluster.islands?.map((island) => island.gpus)).toEqual(want);
  });

  it('is the same run on all of them', () => {
    const request = resolved();
    expect(runOnGpus(request, 64)).toBe(request.run);
  });

  it('changes nothing but the cluster', () => {
    const request = resolved();
    const { cluster, ...rest } = runOnGpus(request, 4);
    const { cluster: whole, ...all } = request.run;
    expect(rest).toEqual(all);
    expect([cluster.gpusPerNode, whole.gpusPerNode]).toEqual([4, 8]);
  });
});

describe('the run of a request', () => {
  it.each([
    ['h100', true],
    ['a100', true],
    ['mi300x', true],
    ['v100-32gb', false],
  ])('%s has a flash kernel for attention: %j', (gpu, want) => {
    expect(resolved({}, { gpu }).run.flashAttention).toBe(want);
  });

  it('takes sizes where they are given instead of a name', () => {
    const modelShape = aModel();
    expect(resolved({ modelShape }).run.model).toEqual(modelShape);
  });

  it('finds a model in any spelling', () => {
    expect(resolved({ model: 'Llama 3.1 8B' }).run.model.layers).toBe(32);
  });

  it('stands for any engine where none is named', () => {
    expect(resolved().run.stack).toBe(UNNAMED_STACK);
    expect(resolved({ stack: 'torchtitan 0.2' }).run.stack).toBe('torchtitan 0.2');
    expect(resolved({ stack: 'TorchTitan 0.2' }).run.stack).toBe('torchtitan 0.2');
    expect(resolved({ stack: 'Megatron_LM core_v0.15' }).run.stack).toBe('megatron-lm core_v0.15');
  });

  it('has what the caller allows, less what the engine cannot be told', () => {
    const allow = { schedules: ['1f1b' as const, 'zbv' as const, 'zb-h1' as const] };
    expect(resolved({ allow }).allow).toEqual(allow);
    expect(resolved({ allow, stack: 'torchtitan' }).allow.schedules).toEqual(['1f1b', 'zbv']);
  });

  it.each([
    ['/cluster/gpu', {}, { gpu: 'h1000' }, /GPU "h1000" is not known; nearest: h100/],
    ['/model', { model: 'lama-3.1-8b' }, {}, /model "lama-3.1-8b" is not known; nearest: llama-3.1-8b/],
  ])('refuses at %s a preset that does not exist, with the nearest names', (pointer, change, cluster, message) => {
    const act = () => resolved(change, cluster);
    expect(act).toThrow(message);
    expect(act).toThrow(expect.objectContaining({ violations: [expect.objectContaining({ pointer })] }));
  });
});

describe('layoutFactsOf', () => {
  it('tells the rules of the model, the batch, the machines and the engine', () => {
    const { run } = resolved({ stack: 'megatron-lm core_v0.15' });
    expect(layoutFactsOf(run, 2)).toMatchObject({
      layers: 32,
      attentionHeads: 32,
      globalBatchSize: 512,
      sequenceLength: 8192,
      microBatchSize: 2,
      gpus: 64,
      gpusPerNode: 8,
      scaleUpDomainGpus: 8,
      engine: 'megatron-lm',
    });
  });

  it('leaves the engine out where the rules know none', () => {
    expect(layoutFactsOf(resolved().run, 1)).not.toHaveProperty('engine');
  });
});

describe('stepsOf', () => {
  it('is tokens over tokens per step', () => {
    expect(stepsOf({ globalBatchSize: 512, sequenceLength: 8192 }, 512 * 8192 * 1000)).toBe(1000);
  });
});
