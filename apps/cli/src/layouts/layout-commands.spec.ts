import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { main } from '../main.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-layout-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `coxswain layout COMMAND` on a file with that text; FILE in what is printed stands for its path. */
async function layout(command: readonly string[], text: string): Promise<Outcome> {
  const path = join(directory, 'layout.yaml');
  writeFileSync(path, text);
  const out: string[] = [];
  const err: string[] = [];
  const code = await main(['layout', ...command, path], {
    env: {},
    now: () => new Date(0),
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
    stdout: new Writable(),
    widthColumns: undefined,
    pause: () => Promise.resolve(),
    signal: new AbortController().signal,
  });
  const named = (lines: readonly string[]): string => lines.join('\n').replaceAll(path, 'FILE');
  return { code, out: named(out), err: named(err) };
}

const FOLDED = `
engine: { name: megatron-lm }
model: mixtral-8x22b
batch: { globalBatchSize: 256, sequenceLength: 4096 }
layout:
  tensorParallelDegree: 2
  contextParallelDegree: 2
  dataParallelDegree: 2
  pipelineParallelDegree: 2
  sequence: { sequenceParallel: true }
  expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 }
mesh: { gpusPerNode: 8, segments: [{ nodes: 2, gpu: h100, network: infiniband }] }
`;
const SHARED = `
roles:
  actor: { layout: { tensorParallelDegree: 4, dataParallelDegree: 2 } }
  rollout: { engine: { name: command }, layout: { tensorParallelDegree: 8, rankOrder: [tensor, context, expert, pipeline, data] } }
meshes: { all: { gpusPerNode: 8, segments: [{ nodes: 1, gpu: h100, network: infiniband }] } }
roleMesh: { actor: all, rollout: all }
flows: [{ from: actor, to: rollout, kind: weights, everySteps: 1 }]
`;

/** Axolotl on top of the Trainer has degrees that the Trainer alone has not. */
const OF_A_FRAMEWORK = `
engine: { name: hugging-face }
model: qwen3-8b
batch: { globalBatchSize: 2, microBatchSize: 1, sequenceLength: 8192 }
layout: { tensorParallelDegree: 2, contextParallelDegree: 2, dataParallelDegree: 2, states: { zeroStage: 3, implementation: fsdp2 } }
`;

describe('coxswain layout check', () => {
  it('calls a legal layout legal and says what its engine makes of it', async () => {
    expect(await layout(['check'], FOLDED)).toEqual({
      code: 0,
      out: 'FILE: legal\n  tp2 x cp2 x dp2 x pp2 / ep8 on 16 GPUs\nengine megatron-lm: supports the whole layout',
      err: '',
    });
  });

  it('takes JSON, and a layout alone', async () => {
    expect(await layout(['check'], '{"tensorParallelDegree": 8}')).toMatchObject({
      code: 0,
      out: 'FILE: legal\n  tp8 on 8 GPUs',
    });
  });

  it('fails for an illegal one with every broken rule', async () => {
    const { code, out } = await layout(['check'], FOLDED.replace('expertParallelDegree: 8', 'expertParallelDegree: 3'));
    expect(code).toBe(1);
    expect(out).toContain('FILE: illegal, 2 rules broken');
    expect(out).toContain(
      'error layout.expert.expertParallelDegree (expertGridFillsStage)\n  expert.expertParallelDegree 3',
    );
    expect(out).toContain('the nearest expertParallelDegree that does is 2');
    expect(out).toContain('error layout.expert.expertParallelDegree (expertParallelDividesExperts)');
  });

  it('shows what an engine refuses and what to do instead, and fails for it as render does', async () => {
    const { code, out } = await layout(['check'], SHARED);
    expect(code).toBe(1);
    expect(out).toContain('  actor: tp4 x dp2 on 8 GPUs\n  rollout: tp8 on 8 GPUs');
    expect(out).toContain(
      'engine command of rollout: refuses\n  engine command does not support rankOrder as given; give it to the program in engine.args',
    );
  });

  it('names engine custom where a program of the user may do what the engine does not', async () => {
    const { code, out } = await layout(['check'], OF_A_FRAMEWORK);
    expect([code, out]).toEqual([1, expect.stringContaining('  Does your own program do it? Engine custom runs it')]);
  });

  it('prints JSON', async () => {
    const { out } = await layout(['check', '--json'], FOLDED.replace('nodes: 2', 'nodes: 4'));
    expect(JSON.parse(out)).toEqual({
      file: 'FILE',
      legal: false,
      roles: [
        {
          layout: 'tp2 x cp2 x dp2 x pp2 / ep8',
          gpus: 16,
          engine: 'megatron-lm',
          outcome: { kind: 'supported' },
        },
      ],
      findings: [
        {
          rule: 'degreesMakeTheGpus',
          severity: 'error',
          path: 'layout.dataParallelDegree',
          message: 'the degrees multiply to 16 ranks, but there are 32 GPUs; use dataParallelDegree 4',
        },
      ],
    });
  });

  it.each<[string, string, RegExp]>([
    [
      'an unknown key, with the nearest',
      'layout: { pipeline: { chunkPerRank: 2 } }',
      /layout\.pipeline: unknown key chunkPerRank; did you mean chunksPerRank\?/,
    ],
    [
      'an unknown key of a layout alone',
      'dataParallelDegre: 2\ntensorParallelDegree: 1',
      /unknown key dataParallelDegre; did you mean dataParallelDegree\?/,
    ],
    [
      'an unknown word, with the nearest',
      'layout: { pipeline: { schedule: zb-v } }',
      /layout\.pipeline\.schedule: "zb-v" is not one of gpipe, .*; did you mean zbv\?/,
    ],
    [
      'a value out of bounds',
      'layout: { tensorParallelDegree: 0 }',
      /layout\.tensorParallelDegree: is 0; it must be at least 1/,
    ],
    ['an unknown model', 'model: lama-3.1-8b\nlayout: {}', /lama-3\.1-8b.*llama-3\.1-8b/],
    ['a model that lacks a size', 'model: { layers: 4 }\nlayout: {}', /model\.hiddenSize: /],
    ['a document that is a list', '[]', /expected a layout, a document with layout, or a job with roles/],
    ['YAML that is none, with its line', 'layout:\n  a: [', /FILE is neither YAML nor JSON: .*line 2/],
    ['an empty file', '', /FILE is empty|expected a layout/],
  ])('names %s', async (_what, text, want) => {
    const { code, err } = await layout(['check'], text);
    expect(err).toMatch(want);
    expect(code).toBe(1);
  });

  it('names a file that is not there', async () => {
    const errors: string[] = [];
    const code = await main(['layout', 'check', join(directory, 'nowhere.yaml')], {
      env: {},
      now: () => new Date(0),
      print: () => undefined,
      printError: (line) => errors.push(line),
      stdout: new Writable(),
      widthColumns: undefined,
      pause: () => Promise.resolve(),
      signal: new AbortController().signal,
    });
    expect([code, errors.join()]).toEqual([
      1,
      expect.stringMatching(/^Cannot read .*nowhere\.yaml: there is no such file/),
    ]);
  });

  it.each<[string, string, string]>([
    ['a role without a mesh', 'rollout: all }', '}'],
    ['a mesh that there is not', 'actor: all', 'actor: al'],
    ['a flow to a stranger', 'to: rollout', 'to: critic'],
    ['a role that its mesh is too small for', 'tensorParallelDegree: 4', 'tensorParallelDegree: 16'],
    [
      'weights between degrees that do not divide one another',
      'tensorParallelDegree: 4, dataParallelDegree: 2',
      'tensorParallelDegree: 3',
    ],
    [
      'roles that wait for one another',
      'kind: weights, everySteps: 1 }',
      'kind: data }, { from: rollout, to: actor, kind: data }',
    ],
  ])('refuses a job with %s', async (_what, from, to) => {
    expect(SHARED).toContain(from);
    const { code, out } = await layout(['check'], SHARED.replace(from, to));
    expect(out).toMatch(/illegal, [12] rules? broken/);
    expect(code).toBe(1);
  });
});

describe('coxswain layout ranks', () => {
  it('prints each rank’s index on every axis and the groups of every axis', async () => {
    const { code, out } = await layout(['ranks', '--json'], FOLDED);
    const table = JSON.parse(out) as Record<string, unknown>;
    expect(code).toBe(0);
    expect(table).toMatchObject({
      worldSize: 16,
      rankOrder: ['tensor', 'weightShard', 'context', 'expert', 'data', 'pipeline'],
      dense: {
        degrees: { tensor: 2, weightShard: 1, context: 2, data: 2, pipeline: 2 },
        groups: {
          context: [
            [0, 2],
            [1, 3],
            [4, 6],
            [5, 7],
            [8, 10],
            [9, 11],
            [12, 14],
            [13, 15],
          ],
          pipeline: [
            [0, 8],
            [1, 9],
            [2, 10],
            [3, 11],
            [4, 12],
            [5, 13],
            [6, 14],
            [7, 15],
          ],
        },
        combinedGroups: {
          'context-data': [
            [0, 2, 4, 6],
            [1, 3, 5, 7],
            [8, 10, 12, 14],
            [9, 11, 13, 15],
          ],
        },
      },
      expert: {
        groups: {
          expert: [
            [0, 1, 2, 3, 4, 5, 6, 7],
            [8, 9, 10, 11, 12, 13, 14, 15],
          ],
        },
      },
    });
    expect((table['ranks'] as unknown[])[13]).toEqual({
      rank: 13,
      dense: { tensor: 1, weightShard: 0, context: 0, data: 1, pipeline: 1 },
      expert: { tensor: 0, weightShard: 0, expert: 5, data: 0, pipeline: 1 },
    });
  });

  it('shows people the axes, the first groups and the first ranks', async () => {
    const { out } = await layout(['ranks'], '{"tensorParallelDegree": 2, "dataParallelDegree": 64}');
    expect(out.split('\n')).toEqual(
      expect.arrayContaining([
        '128 ranks; from adjacent to distant: tensor, weightShard, context, expert, data, pipeline',
        'dense  tensor  2       64      [0 1] [2 3] [4 5] [6 7] …',
        'dense  data    64      2       [0 2 4 … 126] [1 3 5 … 127]',
        '3     1       1',
        'and 64 ranks more; --json lists all of them',
      ]),
    );
  });

  it('names the roles of a job', async () => {
    const { out } = await layout(['ranks', '--json'], SHARED);
    expect(JSON.parse(out)).toMatchObject({ roles: [{ name: 'actor' }, { name: 'rollout', table: { worldSize: 8 } }] });
  });

  it('refuses a layout without a rank map', async () => {
    const { code, err } = await layout(['ranks'], FOLDED.replace('expertParallelDegree: 8', 'expertParallelDegree: 3'));
    expect(err).toMatch(
      /^FILE has no rank map: expert\.expertParallelDegree 3 .*nearest expertParallelDegree that does is 2\.$/,
    );
    expect(code).toBe(1);
  });
});
