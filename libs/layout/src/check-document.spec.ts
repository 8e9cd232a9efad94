import {
  DeviceMesh,
  NIC_KINDS,
  checkJobLayout,
  checkLayoutDocument,
  type DocumentFinding,
  JobLayout,
  LayoutDocument,
  ModelShape,
} from './index.ts';
import { aLayout } from './testing/index.ts';

const LLAMA = {
  layers: 32,
  hiddenSize: 4096,
  ffnHiddenSize: 14_336,
  attentionHeads: 32,
  keyValueHeads: 8,
  headDim: 128,
  vocabularySize: 128_256,
  gatedMlp: true,
};
const MESH = { gpusPerNode: 8, segments: [{ nodes: 2, gpu: 'h100', network: 'infiniband' }] };
const GRID = { tensor: 2, context: 1, expert: 1, data: 4, pipeline: 1 };
const segment = (overrides: object = {}): object => ({ nodes: 1, gpu: 'h100', network: 'roce', ...overrides });

const messagesOf = (findings: readonly DocumentFinding[]): readonly string[] =>
  findings.map(({ severity, rule, path, message }) => `${severity} ${rule} at ${path}: ${message}`);
const modelOf = (name: string): never => {
  throw new Error(`no model ${name} is asked for here`);
};

describe('a document of one role', () => {
  it.each(NIC_KINDS)('has machines with a network of kind %s, as --nic has', (network) => {
    expect(DeviceMesh.parse({ ...MESH, segments: [segment({ network })] }).segments[0]?.network).toBe(network);
  });

  const document = (parts: object): LayoutDocument => LayoutDocument.parse({ model: LLAMA, mesh: MESH, ...parts });

  it.each<[string, object, readonly string[]]>([
    [
      'is legal where the layout takes all GPUs of the mesh',
      { layout: { tensorParallelDegree: 8, dataParallelDegree: 2 } },
      [],
    ],
    [
      'is refused where GPUs are left over',
      { layout: { tensorParallelDegree: 8 } },
      [
        'error degreesMakeTheGpus at layout.dataParallelDegree: the degrees multiply to 8 ranks, but there are 16 GPUs; use dataParallelDegree 2',
      ],
    ],
    [
      'is refused below the option that is wrong',
      { layout: { tensorParallelDegree: 8, dataParallelDegree: 2, pipeline: { chunksPerRank: 2 } } },
      [
        'error chunksNeedPipeline at layout.pipeline.chunksPerRank: pipeline.chunksPerRank 2 needs pipelineParallelDegree 2 or more; without a pipeline it is 1',
      ],
    ],
    [
      'is warned of groups that leave the domain, which is a node unless the mesh says otherwise',
      { layout: { tensorParallelDegree: 16 }, model: { ...LLAMA, keyValueHeads: 16 } },
      [
        'warning chattyGroupsStayInDomain at layout.tensorParallelDegree: tensorParallelDegree 16 is more than the 8 GPUs of an NVLink domain; the largest divisor that fits is 8',
      ],
    ],
    [
      'is legal in a domain of more nodes',
      {
        layout: { tensorParallelDegree: 16 },
        model: { ...LLAMA, keyValueHeads: 16 },
        mesh: { ...MESH, scaleUpDomainGpus: 72 },
      },
      [],
    ],
    [
      'is checked by the engine and the batch it names',
      {
        layout: { tensorParallelDegree: 2, dataParallelDegree: 8 },
        engine: { name: 'megatron-lm' },
        model: { ...LLAMA, experts: { count: 8, topK: 2, ffnHiddenSize: 14_336 } },
        batch: { globalBatchSize: 12 },
      },
      [
        'error dataTimesMicroBatchDividesGlobalBatch at layout.dataParallelDegree: dataParallelDegree 8 times microBatchSize 1 is 8, which does not divide globalBatchSize 12; the nearest dataParallelDegree that does is 6',
        'error expertsWithTensorNeedSequenceParallel at layout.sequence.sequenceParallel: experts with tensorParallelDegree 2 need sequence.sequenceParallel true on megatron-lm',
      ],
    ],
    ['needs no mesh', { layout: { tensorParallelDegree: 8 }, mesh: undefined }, []],
    [
      'takes segments with grids of their own that make one pipeline',
      {
        layout: { tensorParallelDegree: 2, dataParallelDegree: 4, pipelineParallelDegree: 2 },
        mesh: { gpusPerNode: 8, segments: [segment({ grid: GRID }), segment({ grid: GRID })] },
      },
      [],
    ],
    [
      'is refused where one segment has no grid',
      {
        layout: { tensorParallelDegree: 2, dataParallelDegree: 8 },
        mesh: { gpusPerNode: 8, segments: [segment({ grid: GRID }), segment()] },
      },
      [
        'error segmentGridsMakeOnePipeline at mesh.segments: some segments have a grid and some have none; give every segment a grid, or none',
      ],
    ],
    [
      'is refused where the stages of the segments are not those of the layout',
      {
        layout: { tensorParallelDegree: 2, dataParallelDegree: 8 },
        mesh: { gpusPerNode: 8, segments: [segment({ grid: GRID }), segment({ grid: GRID })] },
      },
      [
        'error segmentGridsMakeOnePipeline at mesh.segments: the grids of the segments have 2 pipeline stages together, but pipelineParallelDegree is 1',
      ],
    ],
    [
      'is refused where segments differ in their context degree',
      {
        layout: { tensorParallelDegree: 2, dataParallelDegree: 4, pipelineParallelDegree: 2 },
        mesh: { gpusPerNode: 8, segments: [segment({ grid: GRID }), segment({ grid: { ...GRID, context: 2 } })] },
      },
      [
        'error segmentGridsMakeOnePipeline at mesh.segments: the grids of the segments have context degrees 1 and 2; they must be equal',
      ],
    ],
    [
      'is refused where segments with grids take chunks',
      {
        layout: {
          tensorParallelDegree: 2,
          dataParallelDegree: 4,
          pipelineParallelDegree: 2,
          pipeline: { chunksPerRank: 2 },
        },
        mesh: { gpusPerNode: 8, segments: [segment({ grid: GRID }), segment({ grid: GRID })] },
      },
      [
        'error segmentGridsMakeOnePipeline at layout.pipeline.chunksPerRank: segments with grids of their own require chunksPerRank 1, not 2',
      ],
    ],
  ])('%s', (_sentence, parts, want) => {
    expect(messagesOf(checkLayoutDocument(document(parts), modelOf))).toEqual(want);
  });

  it('asks for the model that it names', () => {
    const asked: string[] = [];
    const findings = checkLayoutDocument(
      { layout: aLayout({ tensorParallelDegree: 3 }), model: 'llama-3.1-8b' },
      (name) => {
        asked.push(name);
        return ModelShape.parse(LLAMA);
      },
    );
    expect(asked).toEqual(['llama-3.1-8b']);
    expect(findings.map(({ rule }) => rule)).toContain('tensorDividesAttentionHeads');
  });
});

describe('a job of several roles', () => {
  const actor = { layout: { tensorParallelDegree: 4, dataParallelDegree: 4 } };
  const critic = { layout: { tensorParallelDegree: 2, dataParallelDegree: 8 } };
  const job = (parts: object): JobLayout =>
    JobLayout.parse({
      roles: { actor, critic },
      meshes: { all: MESH },
      roleMesh: { actor: 'all', critic: 'all' },
      ...parts,
    });

  it.each<[string, object, readonly string[]]>([
    ['is legal where each role fits its mesh', {}, []],
    ['lets a role leave GPUs of its mesh alone', { roles: { actor: { layout: {} }, critic } }, []],
    [
      'is refused without a role',
      { roles: {}, roleMesh: {} },
      [
        'error jobHasRoles at roles: the job has no role; write at least one below roles, with its layout, and its mesh below roleMesh',
      ],
    ],
    [
      'is refused where a role has no mesh',
      { roleMesh: { actor: 'all' } },
      ['error everyRoleHasAMesh at roleMesh.critic: role critic has no mesh; known meshes are all'],
    ],
    [
      'is refused where the mesh of a role is not there',
      { roleMesh: { actor: 'all', critic: 'half' } },
      ['error everyRoleHasAMesh at roleMesh.critic: there is no mesh half; known meshes are all'],
    ],
    [
      'is refused where a mesh is for a role that is not there',
      { roleMesh: { actor: 'all', critic: 'all', reward: 'all' } },
      ['error everyRoleHasAMesh at roleMesh.reward: there is no role reward; known roles are actor, critic'],
    ],
    [
      'is refused where a role is larger than its mesh',
      { roles: { actor: { layout: { dataParallelDegree: 32 } }, critic } },
      ['error rolesFitTheirMesh at roles.actor.layout: dp32 needs 32 GPUs, but mesh all has 16'],
    ],
    [
      'is refused below the role whose layout is wrong',
      { roles: { actor: { ...actor, model: { ...LLAMA, attentionHeads: 30 } }, critic } },
      [
        'error tensorDividesAttentionHeads at roles.actor.layout.tensorParallelDegree: tensorParallelDegree 4 does not divide attentionHeads 30; the nearest that does is 3',
      ],
    ],
    [
      'is refused where a flow comes from nowhere',
      { flows: [{ from: 'reward', to: 'critic', kind: 'data' }] },
      ['error flowsJoinRoles at flows.0: there is no role reward; known roles are actor, critic'],
    ],
    [
      'is refused where a flow leads nowhere',
      { flows: [{ from: 'actor', to: 'reward', kind: 'data', everySteps: 1 }] },
      ['error flowsJoinRoles at flows.0: there is no role reward; known roles are actor, critic'],
    ],
    [
      'is refused where weights move live between degrees that do not divide each other',
      {
        roles: { actor, critic: { layout: { tensorParallelDegree: 3 } } },
        flows: [{ from: 'actor', to: 'critic', kind: 'weights', everySteps: 1 }],
      },
      [
        'error weightsMoveBetweenDivisors at flows.0: weights move from tensorParallelDegree 4 to 3, and neither divides the other; set via to checkpoint',
      ],
    ],
    [
      'moves such weights by checkpoint',
      {
        roles: { actor, critic: { layout: { tensorParallelDegree: 3 } } },
        flows: [{ from: 'actor', to: 'critic', kind: 'weights', everySteps: 1, via: 'checkpoint' }],
      },
      [],
    ],
    ['moves weights live to a degree that divides', { flows: [{ from: 'actor', to: 'critic', kind: 'weights' }] }, []],
    [
      'is refused where roles wait for one another',
      {
        flows: [
          { from: 'actor', to: 'critic', kind: 'data' },
          { from: 'critic', to: 'actor', kind: 'data' },
        ],
      },
      [
        'error rolesCanStart at flows: roles actor, critic wait for each other to end; set everySteps on one of their flows',
      ],
    ],
    [
      'can start where one of them does not wait',
      {
        flows: [
          { from: 'actor', to: 'critic', kind: 'data' },
          { from: 'critic', to: 'actor', kind: 'data', everySteps: 1 },
        ],
      },
      [],
    ],
  ])('%s', (_sentence, parts, want) => {
    expect(messagesOf(checkJobLayout(job(parts), modelOf))).toEqual(want);
  });
});
