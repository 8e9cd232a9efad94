import { API_GROUP_VERSION, ENGINE_NAMES, ENGINE_RELEASES, JobCreate } from '@coxswain/api-types';
import { brokenLayoutRules, engineRefusal, modelRefusals } from '@coxswain/engines';
import { startControlPlane, type ControlPlane } from '@coxswain/local-cluster';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';

const ROOT = resolve(import.meta.dirname, '../..');
const PROGRAM = join(ROOT, 'apps/cli/bin/coxswain.mjs');
const EXAMPLES = join(ROOT, 'examples');
const README = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');
const JOB_FILES = readdirSync(join(EXAMPLES, 'jobs')).map((name) => `examples/jobs/${name}`);
const IMPORTED_FILES = readdirSync(join(EXAMPLES, 'import')).map((name) => `examples/import/${name}`);
const NAMESPACE = 'examples';
const EVERY_KIND_OF_KEY = {
  huggingFace: {
    model_type: 'llama',
    hidden_size: 128,
    rms_norm_eps: 1e-5,
    sliding_window: null,
    rope_scaling: { factor: 8, rope_type: 'llama3' },
    layer_types: ['full_attention', 'sliding_attention'],
  },
};
const MUST_BEGIN = /must begin with "job-"/;

/** Lines of the page's shell blocks. */
const COMMANDS = [...README.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));
const commandsOf = (program: string): string[][] =>
  COMMANDS.filter((line) => line.startsWith(`${program} `)).map((line) => words(line.slice(program.length)));

/** A line as a shell would split it: words, and texts in single quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

describe('the page about the examples', () => {
  it('names every example, and none that is not there', () => {
    const named = [...README.matchAll(/\]\(((?:jobs|fabrics|import|clusters)\/[^)]+)\)/g)].map(([, path]) => path);
    const there = ['jobs', 'fabrics', 'import', 'clusters'].flatMap((folder) =>
      readdirSync(join(EXAMPLES, folder)).map((name) => `${folder}/${name}`),
    );
    expect(named.sort()).toEqual(there.sort());
  });

  it.each(commandsOf('npx coxswain').map((argv) => [argv.join(' '), argv] as const))(
    'coxswain %s is understood',
    async (_line, argv) => {
      // Nobody listens there: a command that was understood ends with "cannot reach", exit code 2.
      const env = {
        ...process.env,
        NODE_OPTIONS: '',
        COXSWAIN_SERVER: 'http://127.0.0.1:1',
        COXSWAIN_TOKEN: 'cxs_none',
      };
      // Only a watch tries again, and only one that has found its job.
      const run = promisify(execFile)(process.execPath, [PROGRAM, ...argv], { cwd: ROOT, env, timeout: 120_000 });
      await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(/^Cannot reach/) as string });
    },
  );
});

describe('the clusters', () => {
  it.each([
    ['a node for each tensor group', 'h100', { gpu: 8 }],
    ['tensor groups of two trays in one NVLink domain', 'gb200', { node: 8 }],
  ])('hold a gang with %s', async (_sentence, cluster, farthest) => {
    const layout = JSON.stringify({ tensorParallelDegree: 8, pipelineParallelDegree: 2, dataParallelDegree: 4 });
    const argv = ['place', '--nodes', `examples/clusters/${cluster}-nodes.json`, '--layout', '-', '--json'];
    const run = promisify(execFile)(process.execPath, [PROGRAM, ...argv], { cwd: ROOT });
    run.child.stdin?.end(layout);
    const answer = JSON.parse((await run).stdout) as { placement: { groups: { kind: string; farthest: object }[] } };
    expect(answer.placement.groups.find(({ kind }) => kind === 'tensor')?.farthest).toEqual(farthest);
  });
});

describe.each(JOB_FILES)('%s', (file) => {
  const { apiVersion, kind, metadata, spec } = parse(readFileSync(join(ROOT, file), 'utf8')) as Manifest;
  const job = JobCreate.parse({ name: metadata.name, spec });

  it('is a TrainingJob, and its file has its name', () => {
    expect([apiVersion, kind]).toEqual([API_GROUP_VERSION, 'TrainingJob']);
    expect(file).toBe(`examples/jobs/${job.name}.yaml`);
  });

  it('names a model that is known, or none', () => {
    expect(modelRefusals(job.spec.model)).toEqual([]);
  });

  it('is not refused by its engine', () => {
    expect(engineRefusal(job.spec)).toBeUndefined();
  });

  it('has a layout that its model allows', () => {
    const { layout } = job.spec;
    expect(layout === undefined ? [] : brokenLayoutRules({ ...job.spec, layout })).toEqual([]);
  });
});

/** How an automatic job with another part of its spec is asked for. */
function dryRun(change: object): [string[], { input: string }] {
  const manifest = parse(readFileSync(join(ROOT, 'examples/jobs/gpt-auto.yaml'), 'utf8')) as Manifest;
  const input = JSON.stringify({ ...manifest, spec: { ...manifest.spec, ...change } });
  return [['-n', NAMESPACE, 'apply', '--server-side', '--dry-run=server', '-f', '-'], { input }];
}

describe('the real API server', () => {
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: false, controllerManager: false });
    const crds = join(ROOT, 'charts/coxswain/definitions');
    await plane.kubectl(['apply', '--server-side', '-f', crds]);
    await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', '-f', crds]);
    await plane.kubectl(['create', 'namespace', NAMESPACE]);
  });

  afterAll(() => plane.stop());

  it.each(JOB_FILES)('accepts %s with strict validation', async (file) => {
    const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', join(ROOT, file)];
    expect(await plane.kubectl(['-n', NAMESPACE, ...args])).toContain('serverside-applied');
  });

  it.each(IMPORTED_FILES)('accepts what %s is imported as', async (file) => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'import', file], { cwd: ROOT });
    const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
    expect(await plane.kubectl(['-n', NAMESPACE, ...args], { input: stdout })).toContain('serverside-applied');
  });

  it('refuses an example with a field that there is not, so that the check above means something', async () => {
    const file = JOB_FILES[0] ?? '';
    const manifest = parse(readFileSync(join(ROOT, file), 'utf8')) as Manifest;
    const input = JSON.stringify({ ...manifest, spec: { ...manifest.spec, gpuCount: 8 } });
    const args = ['-n', NAMESPACE, 'apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
    await expect(plane.kubectl(args, { input })).rejects.toThrow(/gpuCount/);
  });

  it.each([
    ['a layout beside gpus', { layout: { tensorParallelDegree: 2 }, gpus: 4 }, /either layout, or gpus/],
    ['neither a layout nor gpus', { layout: undefined, gpus: undefined }, /either layout, or gpus/],
    [
      'gpus without a model',
      { model: undefined, engine: { name: 'command', image: 'any', command: ['x'] } },
      /needs model/,
    ],
    ['the word auto in place of a layout', { layout: 'auto' }, /spec.layout: expected map/],
  ])('refuses %s', async (_what, change, want) => {
    await expect(plane.kubectl(...dryRun(change))).rejects.toThrow(want);
  });

  it.each<[string, object]>([
    ['an even pipeline', { pipelineParallelDegree: 2, pipeline: { chunksPerRank: 1 } }],
    [
      'stages that are listed',
      { pipelineParallelDegree: 3, pipeline: { stages: [{ layers: 5 }, { layers: 4 }, { layers: 5 }] } },
    ],
    [
      'a vocabulary that counts as layers',
      { pipelineParallelDegree: 16, pipeline: { vocabulary: 'counted-as-layer' } },
    ],
  ])('takes %s of 14 layers', async (_what, layout) => {
    const model = { layers: 14, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 };
    const engine = { name: 'megatron-lm', image: 'any' };
    expect(await plane.kubectl(...dryRun({ engine, model, layout, gpus: undefined }))).toContain('serverside-applied');
  });

  it('refuses stages of 14 layers that nobody lists and that are not even', async () => {
    const model = { layers: 14, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 };
    const change = { model, layout: { pipelineParallelDegree: 4 }, gpus: undefined };
    await expect(plane.kubectl(...dryRun(change))).rejects.toThrow(/4 does not divide model.layers 14/);
  });

  it.each<[string, object, RegExp]>([
    [
      'a program of the user’s that is missing',
      { name: 'deepspeed' },
      /command is required by engines command, custom/,
    ],
    ['a program of reference', { name: 'reference', command: ['x'] }, /reference starts its own program/],
    [
      'a recipe of megatron-lm',
      { name: 'megatron-lm', recipe: 'a:b' },
      /recipe is for engines torchtitan, megatron-bridge/,
    ],
    ['a release that nobody knows', { name: 'torchtitan', release: '9' }, /release of torchtitan is one of v/],
    ['a release of reference', { name: 'reference', release: '9' }, /release is for engines megatron-lm/],
    ['who starts reference', { name: 'reference', startedBy: 'torchrun' }, /started rank by rank/],
    ['lines of torchtitan', { name: 'torchtitan', stepLines: 'megatron' }, /stepLines is for engines command, custom/],
    ['what torchtitan saves', { name: 'torchtitan', checkpointFormat: 'dcp' }, /checkpointFormat is for engines/],
  ])('refuses of an engine: %s', async (_what, engine, want) => {
    await expect(plane.kubectl(...dryRun({ engine: { image: 'any', ...engine } }))).rejects.toThrow(want);
  });

  it.each(ENGINE_NAMES)('takes engine %s with what it needs, of its newest release', async (name) => {
    const [release] = ENGINE_RELEASES[name];
    const engine = { name, image: 'any', release, ...(name === 'reference' ? {} : { command: ['x'] }) };
    expect(await plane.kubectl(...dryRun({ engine }))).toContain('serverside-applied');
  });

  const sizes = { layers: 4, hiddenSize: 128, attentionHeads: 4 };
  const huggingFace = { model_type: 'llama' };
  it.each<[string, object, RegExp]>([
    ['a preset beside sizes', { preset: 'llama-3.1-8b', layers: 4 }, /give one of the three/],
    ['a preset beside a config.json', { preset: 'llama-3.1-8b', huggingFace }, /give one of the three/],
    ['a config.json beside experts', { huggingFace, experts: { count: 8, topK: 2, ffnHiddenSize: 64 } }, /one of the/],
    ['no model at all', {}, /is given by preset, by huggingFace, or by layers/],
    ['sizes without the number of layers', { ...sizes, layers: undefined }, /give all three/],
    ['groups that do not divide', { ...sizes, keyValueHeads: 3 }, /keyValueHeads 3 does not divide attentionHeads 4/],
    ['heads that do not divide', { ...sizes, attentionHeads: 3 }, /attentionHeads 3 does not divide hiddenSize 128/],
  ])('refuses %s as a model', async (_what, model, want) => {
    await expect(dryRunOfModel({ ...model, sequenceLength: 128 })).rejects.toThrow(want);
  });

  it.each<[string, object]>([
    ['heads of a width of their own', { ...sizes, attentionHeads: 3, headDim: 64 }],
    ['a config.json with keys that hold nothing, lists and keys that nobody reads', EVERY_KIND_OF_KEY],
  ])('takes %s as a model', async (_what, model) => {
    expect(await dryRunOfModel({ ...model, sequenceLength: 128 })).toContain('serverside-applied');
  });

  it('keeps a config.json as it was written, and lets nobody change it', async () => {
    await applyModel({ ...EVERY_KIND_OF_KEY, sequenceLength: 128 });
    const read = await plane.kubectl(['-n', NAMESPACE, 'get', 'trainingjob', 'words', '-o', 'json']);
    expect((JSON.parse(read) as { spec: { model: object } }).spec.model).toMatchObject(EVERY_KIND_OF_KEY);
    for (const change of [{ hidden_size: 64 }, { rope_scaling: null }, { another: 1 }]) {
      const changed = { huggingFace: { ...EVERY_KIND_OF_KEY.huggingFace, ...change }, sequenceLength: 128 };
      await expect(applyModel(changed)).rejects.toThrow(/model cannot change; make another job instead/);
    }
  });

  const training = { steps: 1, globalBatchSize: 8 };
  const wsd = { name: 'wsd', decaySteps: 1 };
  it.each<[string, object, RegExp]>([
    ['steps beside tokens', { training: { ...training, tokens: 1 } }, /in steps or in tokens; give exactly one/],
    ['neither steps nor tokens', { training: { globalBatchSize: 8 } }, /in steps or in tokens; give exactly one/],
    ['tokens without a model', { training: { tokens: 1, globalBatchSize: 8 } }, /tokens needs model.sequenceLength/],
    [
      'tokens for more steps than are counted',
      { training: { tokens: 1e15, globalBatchSize: 8 }, model: { ...sizes, sequenceLength: 1 } },
      /more than 1000000000 steps/,
    ],
    ['a decay of no schedule', { training: { ...training, schedule: { ...wsd, name: 'cosine' } } }, /belongs to sched/],
    ['wsd without a decay', { training: { ...training, schedule: { name: 'wsd' } } }, /belongs to schedule wsd/],
    ['mock data in a claim', { data: { format: 'mock', claimName: 'c', path: 'a' } }, /format mock reads nothing/],
    ['data at no path', { data: { claimName: 'c' } }, /give claimName and one of the two/],
    ['a path that leaves the claim', { data: { claimName: 'c', paths: [{ path: '../a' }] } }, /without "..\"/],
    ['a bound of a claim', { scratch: { claimName: 'c', sizeLimit: '1Gi' } }, /give claimName with path, or sizeLimit/],
    ['several roles', { roles: { actor: { any: 1 } } }, /jobs of several roles are not run yet: make a job of each/],
  ])('refuses %s', async (_what, words, want) => {
    await expect(applyWords(words, ['--dry-run=server'])).rejects.toThrow(want);
  });

  it('lets nobody change from which weights a job begins', async () => {
    const initialWeights = { claimName: 'weights', format: 'dcp' };
    await applyWords({ initialWeights }, [], 'begins');
    const changed = applyWords({ initialWeights: { ...initialWeights, path: 'other' } }, [], 'begins');
    await expect(changed).rejects.toThrow(/initialWeights cannot change/);
  });

  const dryRunOfModel = (model: object): Promise<string> => applyModel(model, ['--dry-run=server']);

  const applyModel = (model: object, more: readonly string[] = []): Promise<string> => applyWords({ model }, more);

  async function applyWords(words: object, more: readonly string[], name = 'words'): Promise<string> {
    const engine = { name: 'command', image: 'any', command: ['x'] };
    const spec = { engine, layout: { dataParallelDegree: 2 }, ...words };
    const manifest = { apiVersion: API_GROUP_VERSION, kind: 'TrainingJob', metadata: { name }, spec };
    const args = ['-n', NAMESPACE, 'apply', '--server-side', '--validate=strict', ...more, '-f', '-'];
    return await plane.kubectl(args, { input: JSON.stringify(manifest) });
  }

  const secret = { secret: 'job-hf', key: 'token' };
  const files = (...keys: readonly string[]): object => ({
    secretFiles: keys.map((key) => ({ secret: 'job-hf', key })),
  });
  it.each<[string, object, RegExp]>([
    [
      'a Secret of another name as a variable',
      { secretEnv: [{ ...secret, name: 'A', secret: 'registry' }] },
      MUST_BEGIN,
    ],
    ['a Secret of another name as a file', { secretFiles: [{ ...secret, secret: 'operator-job-tls' }] }, MUST_BEGIN],
    ['a key that leads out of its directory', files('..'), /key: Invalid value: ".."/],
    ['a key that is a path', files('a/b'), /key: Invalid value: "a\/b"/],
    ['a key as a file twice', files('token', 'token'), /duplicate entries for key/i],
    [
      'a variable of ours from a Secret',
      { secretEnv: [{ ...secret, name: 'COXSWAIN_EPOCH' }] },
      /written by the operator/,
    ],
    [
      'a variable with two sources',
      { env: [{ name: 'A', value: 'b' }], secretEnv: [{ ...secret, name: 'A' }] },
      /either in env or in secretEnv/,
    ],
  ])('refuses %s, whoever writes it', async (_what, change, want) => {
    const manifest = parse(readFileSync(join(ROOT, 'examples/jobs/gpt-auto.yaml'), 'utf8')) as Manifest;
    const { engine } = manifest.spec as { readonly engine: object };
    const input = JSON.stringify({ ...manifest, spec: { ...manifest.spec, engine: { ...engine, ...change } } });
    const args = ['-n', NAMESPACE, 'apply', '--server-side', '--dry-run=server', '-f', '-'];
    await expect(plane.kubectl(args, { input })).rejects.toThrow(want);
  });

  it('lets a suspended job change from a layout to gpus and back, and not while it runs', async () => {
    const manifest = parse(readFileSync(join(ROOT, 'examples/jobs/gpt-auto.yaml'), 'utf8')) as Manifest;
    const kubectl = (args: readonly string[], input?: string): Promise<string> =>
      plane.kubectl(['-n', NAMESPACE, ...args], input === undefined ? {} : { input });
    const patch = (spec: object): Promise<string> =>
      kubectl(['patch', 'trainingjob', 'gpt-auto', '--type', 'merge', '-p', JSON.stringify({ spec })]);
    await kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(manifest));
    await expect(patch({ gpus: 8 })).rejects.toThrow(/only while the job is suspended/);
    await expect(patch({ gpus: null, layout: {} })).rejects.toThrow(/only while the job is suspended/);
    await expect(patch({ minGpus: 2 })).rejects.toThrow(/only while the job is suspended/);
    await patch({ suspend: true });
    await expect(patch({ minGpus: 5 })).rejects.toThrow(/minGpus needs gpus and cannot be larger/);
    await patch({ minGpus: 2 });
    await expect(patch({ gpus: null, layout: {} })).rejects.toThrow(/minGpus needs gpus and cannot be larger/);
    await patch({ gpus: null, minGpus: null, layout: { dataParallelDegree: 4 } });
    await patch({ gpus: 8, layout: null });
    expect(await kubectl(['get', 'trainingjob', 'gpt-auto', '-o', 'jsonpath={.spec.gpus}{.spec.layout}'])).toBe('8');
  });

  it('takes the steps of the walk-through by the resource, and refuses a new layout while the job runs', async () => {
    const kubectl = (args: readonly string[]): Promise<string> => plane.kubectl(['-n', NAMESPACE, ...args]);
    const [apply, suspend, , resume] = commandsOf('kubectl');
    if (apply === undefined || suspend === undefined || resume === undefined) throw new Error('the page has changed');
    await kubectl(apply.map((word) => (word.startsWith('examples/') ? join(ROOT, word) : word)));
    await expect(kubectl(resume)).rejects.toThrow(
      /layout, gpus and minGpus may change only while the job is suspended/,
    );
    await kubectl(suspend);
    await kubectl(resume);
    const layout = 'jsonpath={.spec.layout.tensorParallelDegree} {.spec.layout.pipelineParallelDegree}';
    expect(await kubectl(['get', 'trainingjob', 'tiny-gpt', '-o', layout])).toBe('1 2');
  });
});
