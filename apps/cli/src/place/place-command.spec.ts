import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runOffline, type OfflineOutcome } from '../testing/run-offline.ts';

const CLUSTERS = resolve(import.meta.dirname, '../../../../examples/clusters');
const NODES = join(CLUSTERS, 'h100-nodes.json');
const PODS = join(CLUSTERS, 'h100-pods.json');
const GB200 = join(CLUSTERS, 'gb200-nodes.json');
const MODEL = ['--model', 'llama-3.1-70b', '--global-batch', '64', '--seq', '8192'];
/** Fits 64 GPUs. */
const LAYOUT = { tensorParallelDegree: 8, pipelineParallelDegree: 4, dataParallelDegree: 2 };

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-place-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function aFile(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function place(layout: object, ...argv: readonly string[]): Promise<OfflineOutcome> {
  return runOffline({}, 'place', '--layout', aFile('layout.json', layout), ...argv);
}

interface Answer {
  readonly placed: boolean;
  readonly refusal?: { readonly kind: string; readonly message: string };
  readonly traffic: string;
  readonly placement?: {
    readonly ranks: readonly { readonly rank: number; readonly node: string; readonly gpu: number }[];
    readonly weightedBytes: number;
    readonly lowerBoundWeightedBytes: number;
    readonly crossingBytes: Readonly<Record<string, number>>;
    readonly groups: readonly { readonly kind: string; readonly farthest: Readonly<Record<string, number>> }[];
    readonly step?: { readonly stepTimeS: number; readonly network: object; readonly leftOut: readonly string[] };
  };
}

async function answer(...args: Parameters<typeof place>): Promise<Answer> {
  const { out, err } = await place(...args, '--json');
  expect(err).toBe('');
  return JSON.parse(out) as Answer;
}

describe('place', () => {
  it.each([
    [
      'assumes and says that two blocks of one zone reach each other',
      'us-central1-a',
      /\nNo label says that nodes below b-0, b-1 reach/,
    ],
    ['says nothing where one block holds the gang', '', /\n(?!No label)/],
  ])('%s', async (_sentence, zone, want) => {
    const labels = (block: number): object => ({
      'cloud.google.com/gce-topology-block': `b-${zone === '' ? 0 : block}`,
      'topology.kubernetes.io/zone': 'us-central1-a',
    });
    const items = [0, 1, 2, 3].map((index) => ({
      metadata: { name: `n${index}`, labels: labels(index % 2) },
      status: { allocatable: { 'nvidia.com/gpu': '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
    }));
    const nodes = aFile('google.json', { kind: 'NodeList', apiVersion: 'v1', items });
    const { code, out } = await place({ tensorParallelDegree: 8, dataParallelDegree: 4 }, '--nodes', nodes);
    expect([code, want.test(out), out.includes('No label says')]).toEqual([0, true, zone !== '']);
  });

  it('says where smaller pods would keep stages whole and cost less', async () => {
    const cut = { tensorParallelDegree: 1, pipelineParallelDegree: 3, dataParallelDegree: 6 };
    const { out } = await place(cut, '--nodes', NODES);
    const [, less] = /^With --gpus-per-node 6, on 3 nodes, stages stay whole and (\d+) % less crosses/m.exec(out) ?? [];
    const as8 = await answer(cut, '--nodes', NODES);
    const as6 = await answer(cut, '--nodes', NODES, '--gpus-per-node', '6');
    const ratio = (as6.placement?.weightedBytes ?? NaN) / (as8.placement?.weightedBytes ?? NaN);
    expect(Number(less)).toBe(Math.round(100 * (1 - ratio)));
    expect(as8.placement).toMatchObject({ cheaperPods: { ranksPerPod: 6, pods: 3 } });
    expect(as6.placement).not.toHaveProperty('cheaperPods');
    expect((await place(LAYOUT, '--nodes', NODES)).out).not.toContain('stages stay whole');
  });

  it('gives every rank a GPU of its own, on nodes that are free and take pods', async () => {
    const { placed, placement } = await answer(LAYOUT, '--nodes', NODES, '--busy', PODS);
    expect(placed).toBe(true);
    const ranks = placement?.ranks ?? [];
    expect(ranks.map(({ rank }) => rank)).toEqual([...Array(64).keys()]);
    expect(new Set(ranks.map(({ node, gpu }) => `${node} ${gpu}`)).size).toBe(64);
    // Taken, taken in part, cordoned.
    const unfit = new Set(['gpu-a6', 'gpu-c3', 'gpu-b2']);
    expect(ranks.filter(({ node }) => unfit.has(node))).toEqual([]);
  });

  it('keeps tensor groups in a node, and says how far the others reach', async () => {
    const { placement } = await answer(LAYOUT, '--nodes', NODES);
    expect(placement?.groups.map(({ kind }) => kind)).toEqual(['tensor', 'data', 'pipeline']);
    expect(placement?.groups[0]?.farthest).toEqual({ gpu: 8 });
  });

  it('is never below its bound, and reaches it where a leaf holds the gang', async () => {
    const small = { ...LAYOUT, pipelineParallelDegree: 2 };
    const { placement } = await answer(small, '--nodes', NODES);
    expect(placement?.lowerBoundWeightedBytes).toBeGreaterThan(0);
    expect((placement?.weightedBytes ?? 0) / (placement?.lowerBoundWeightedBytes ?? 1)).toBeCloseTo(1, 9);
  });

  it('draws the fabric with the gang on it, and without one that does not fit', async () => {
    const path = join(directory, 'gang.svg');
    await place(LAYOUT, '--nodes', NODES, '--draw', path);
    expect(readFileSync(path, 'utf8')).toMatch(/<title>rank 63, stage 3, tensor 7, context 0, data 1: GPU 7 of gpu-/);
    await place({ tensorParallelDegree: 8, dataParallelDegree: 64 }, '--nodes', NODES, '--draw', path);
    expect(readFileSync(path, 'utf8')).not.toContain('<title>rank');
  });

  it('wants a file to draw to, for its answer goes to standard output', async () => {
    const { err, code } = await place(LAYOUT, '--nodes', NODES, '--draw', '-');
    expect([err, code]).toEqual(['--draw needs a file: the answer goes to standard output.', 1]);
  });

  it('takes bytes of a usual model where none is named, and predicts no step', async () => {
    const { traffic, placement } = await answer(LAYOUT, '--nodes', NODES);
    expect(traffic).toBe('assumed');
    expect(placement?.step).toBeUndefined();
  });

  it('predicts a step of the named model with the network that is there', async () => {
    const { traffic, placement } = await answer(LAYOUT, '--nodes', NODES, ...MODEL);
    expect(traffic).toBe('planned');
    expect(placement?.step?.stepTimeS).toBeGreaterThan(1);
    expect(placement?.step?.network).toEqual({ scaleUpDomainGpus: 8, scaleOutGbPerS: 50 });
    expect(placement?.step?.leftOut.join()).toContain('oversubscribed');
  });

  it('puts a tensor group of 16 into one NVLink domain of small nodes', async () => {
    const wide = { tensorParallelDegree: 16, pipelineParallelDegree: 2, dataParallelDegree: 2 };
    const { placement } = await answer(wide, '--nodes', GB200, ...MODEL);
    expect(placement?.groups.find(({ kind }) => kind === 'tensor')?.farthest).toEqual({ node: 4 });
    expect(placement?.crossingBytes['island']).toBe(0);
  });

  it('shows pods, groups and bytes', async () => {
    const { out, code } = await place(LAYOUT, '--nodes', NODES, ...MODEL);
    expect(code).toBe(0);
    expect(out).toMatch(/^tp8 x dp2 x pp4 on 64 GPUs: 8 nodes with 8 ranks each, chosen in /);
    expect(out).toMatch(/\n0-7 +gpu-\w\w +- +ib-leaf-\d\d < ib-spine-\d +ib-core-0\n/);
    expect(out).toMatch(/\ntensor +8 of 8 +565.3 GiB +8 in a node\n/);
    expect(out).toMatch(/\nbetween nodes +\d+\.\d GiB\n/);
    expect(out).toMatch(/\nA step takes .* with NVLink among 8 GPUs and 400 Gb\/s per GPU beyond\.\n/);
  });

  it('says why nothing fits, and ends with 4', async () => {
    const many = { tensorParallelDegree: 8, dataParallelDegree: 64 };
    const { out, code } = await place(many, '--nodes', NODES);
    expect(code).toBe(4);
    expect(out).toContain('Needs 512 GPUs');
    expect((await answer(many, '--nodes', NODES)).refusal?.kind).toBe('waiting');
  });
});

const list = (...items: readonly object[]) => ({ kind: 'List', apiVersion: 'v1', items });
const aNode = (name: string, labels: Readonly<Record<string, string>> = {}): object => ({
  kind: 'Node',
  metadata: { name, labels },
  status: { allocatable: { 'nvidia.com/gpu': '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
});
const without = { metadata: { name: 'a' }, kind: 'Node' };

/** Two nodes of H100 on InfiniBand and two of A100 on RoCE. */
const twoTypes = list(
  ...['NVIDIA-H100-80GB-HBM3', 'NVIDIA-A100-SXM4-80GB'].flatMap((gpu) =>
    ['a', 'b'].map((name) => {
      const isFast = gpu.includes('H100');
      return aNode(`${isFast ? 'fast' : 'slow'}-${name}`, {
        'nvidia.com/gpu.product': gpu,
        'fabric.coxswain.dev/nic-type': isFast ? 'infiniband' : 'roce',
        'fabric.coxswain.dev/nic-speed-gbps': isFast ? '400' : '200',
        'network.topology.nvidia.com/leaf': isFast ? 'ib' : 'ro',
      });
    }),
  ),
);
/** As `coxswain plan --json | jq .best` prints it, of what is read here. */
const PLAN = {
  layout: { tensorParallelDegree: 8, pipelineParallelDegree: 4 },
  microBatchSize: 1,
  prediction: {},
  stageGpus: [
    { stages: 2, gpu: 'a100-sxm4-80gb' },
    { stages: 2, gpu: 'h100-sxm5-80gb' },
  ],
};

describe('stages that are cut for several types of GPU', () => {
  const placeStages = (plan: object, ...argv: readonly string[]): ReturnType<typeof place> =>
    place(plan, '--nodes', aFile('types.json', twoTypes), '--across-islands', 'any', ...argv);
  const nodesOf = ({ out }: OfflineOutcome): readonly string[] => {
    const { placement } = JSON.parse(out) as Answer;
    return (placement?.ranks ?? []).filter(({ rank }) => rank % 8 === 0).map(({ node }) => node);
  };

  it.each<[sentence: string, plan: object, argv: readonly string[], nodes: readonly string[]]>([
    ['are on the types that the plan says', PLAN, [], ['slow-a', 'slow-b', 'fast-a', 'fast-b']],
    [
      'as an option says it too',
      PLAN.layout,
      ['--stage-gpus', '2=a100,2=h100'],
      ['slow-a', 'slow-b', 'fast-a', 'fast-b'],
    ],
    ['which comes first', PLAN, ['--stage-gpus', '2=h100,2=a100'], ['fast-a', 'fast-b', 'slow-a', 'slow-b']],
    [
      'each on a node of its own, where neighbours are of one type',
      PLAN,
      ['--stage-gpus', '1=h100,1=h100,2=a100'],
      ['fast-a', 'fast-b', 'slow-a', 'slow-b'],
    ],
    [
      'in the words of the nodes as well',
      PLAN,
      ['--stage-gpus', '1=NVIDIA-A100-SXM4-80GB,2=h100,1=a100'],
      ['slow-a', 'fast-a', 'fast-b', 'slow-b'],
    ],
  ])('%s', async (_sentence, plan, argv, nodes) => {
    expect(nodesOf(await placeStages(plan, ...argv, '--json'))).toEqual(nodes);
  });

  it('are faster the more layers the fast ones have, and no placement is better where each part is', async () => {
    const cut = (...layers: readonly number[]): object => {
      const stages = layers.map((count, at) => ({
        layers: count,
        ...(at === 0 ? { embedding: true } : {}),
        ...(at === 3 ? { loss: true } : {}),
      }));
      return { ...PLAN, layout: { ...PLAN.layout, pipeline: { schedule: '1f1b', stages } } };
    };
    // One after the other: they share the file of the plan.
    const placementOf = async (plan: object): Promise<Answer['placement']> =>
      (JSON.parse((await placeStages(plan, ...MODEL, '--json')).out) as Answer).placement;
    const even = await placementOf(cut(20, 20, 20, 20));
    const bySpeed = await placementOf(cut(10, 10, 30, 30));
    expect(bySpeed?.step?.stepTimeS).toBeLessThan(0.8 * (even?.step?.stepTimeS ?? 0));
    expect((even?.weightedBytes ?? 0) / (even?.lowerBoundWeightedBytes ?? 1)).toBeCloseTo(1, 9);
  });

  it.each<[sentence: string, plan: object, argv: readonly string[], want: RegExp]>([
    ['too few stages', PLAN, ['--stage-gpus', '3=h100'], /^GPUs are named for 3 stages, and .*Degree is 4: name/],
    ['no such GPUs', PLAN, ['--stage-gpus', '4=b200'], /no node has such GPUs: nodes have NVIDIA-A100.*HBM3\.$/],
    ['no number', PLAN, ['--stage-gpus', 'all=h100'], /--stage-gpus.*"all" is not a whole number/],
    ['no type', PLAN, ['--stage-gpus', '4'], /"4" is not <stages>=<gpu>, such as 5=h100/],
    [
      'a plan that was changed by hand',
      { ...PLAN, stageGpus: { h100: 4 } },
      [],
      /stageGpus of .* must be a list of stages and gpu/,
    ],
    [
      'stages side by side',
      { ...PLAN, layout: { ...PLAN.layout, dataParallelDegree: 1, rankOrder: ['pipeline', 'tensor'] } },
      [],
      /rankOrder puts ranks of several stages side by side/,
    ],
    [
      'GPUs of one type beside those of an option',
      PLAN.layout,
      ['--stage-gpus', '2=a100,2=h100', '--gpu', 'h100'],
      /^--gpu h100 names one type .* and --stage-gpus 2=a100,2=h100 names .* Leave one of the two out\.$/,
    ],
    [
      'GPUs of one type beside those of the plan',
      PLAN,
      ['--gpu', 'h100'],
      /^--gpu h100 names .* and stageGpus of .*layout\.json \(2=a100-sxm4-80gb,2=h100-sxm5-80gb\) names .* Leave out --gpu, or/,
    ],
  ])('are refused with %s', async (_sentence, plan, argv, want) => {
    const outcome = await placeStages(plan, ...argv);
    expect(outcome.err).toMatch(want);
    expect(outcome.code).toBe(1);
  });

  it('wait for the node that a type lacks, even where each of its parts has room alone', async () => {
    const oneSlow = { ...twoTypes, items: twoTypes.items.slice(0, 3) };
    const argv = ['--across-islands', 'any', '--stage-gpus', '1=a100,2=h100,1=a100'];
    const { out, code } = await place(PLAN, '--nodes', aFile('one-slow.json', oneSlow), ...argv);
    expect(out).toMatch(
      /waits: Stages 1 and 4 are planned for NVIDIA-A100-SXM4-80GB GPUs\. Needs 16 GPUs as 2 nodes with 8 free each; of 8 such GPUs 8 are free\.$/,
    );
    expect(code).toBe(4);
  });

  it.each<[sentence: string, gpusPerNode: string, want: RegExp]>([
    [
      'that cut a part unevenly, which is the true reason',
      '3',
      /cannot be placed: Stages 1 to 2 are planned for NVIDIA-A100-SXM4-80GB GPUs, which are 16 ranks, and --gpus-per-node 3 does not divide them: .* Set --gpus-per-node to 1 or 2 or 4 or 8, or leave it out\.$/,
    ],
    [
      'that no node of their type has',
      '16',
      /Stages 1 to 2 are planned for .* GPUs\. --gpus-per-node 16 exceeds every node; the largest, slow-a, has 8 GPUs\. Set --gpus-per-node to at most 8\.$/,
    ],
  ])('cannot be placed as pods %s', async (_sentence, gpusPerNode, want) => {
    const { out, code } = await placeStages(PLAN, '--gpus-per-node', gpusPerNode);
    expect(out).toMatch(want);
    expect(code).toBe(4);
  });

  it('wait where NICs of two classes would have to connect, and are told how they need not', async () => {
    const { out, code } = await place(PLAN, '--nodes', aFile('types.json', twoTypes));
    expect(out).toMatch(/NICs of one class: place it with --across-islands any, at the speed of TCP\.$/);
    expect(code).toBe(4);
  });
});

describe('nodes of which some do not say on which network they are', () => {
  const core = { 'network.topology.nvidia.com/core': 'c0' };
  const nodesOf = (...labels: readonly object[]): string =>
    aFile(
      'some.json',
      list(...labels.map((nodeLabels, at) => aNode(`n${at}`, nodeLabels as Readonly<Record<string, string>>))),
    );
  const two = { tensorParallelDegree: 8, dataParallelDegree: 2 };

  it.each<[sentence: string, nodes: readonly object[], want: RegExp]>([
    [
      'are called apart where the gang would fit on one network',
      [core, {}],
      /cannot be placed: .* No label of 1 of 2 nodes says on which network they are, so they count as apart from the others: .* Where they do, give them the label network\.topology\.nvidia\.com\/core=c0 too, or all nodes one fabric\.coxswain\.dev\/nic-island\.$/,
    ],
    [
      'or be given the island that the others are declared to be in',
      [{ 'fabric.coxswain.dev/nic-island': 'east' }, {}],
      /give them the label fabric\.coxswain\.dev\/nic-island=east, or that island in the Fabric resource\.$/,
    ],
  ])('%s', async (_sentence, nodes, want) => {
    expect((await place(two, '--nodes', nodesOf(...nodes))).out).toMatch(want);
  });
});

describe('a file of nodes', () => {
  it.each<readonly [sentence: string, content: unknown, message: RegExp]>([
    ['is empty', '', /is empty; create it with kubectl get nodes -o json\.$/],
    ['is no JSON', 'kind: List', /is not JSON \(.*\); create it with/],
    ['is cut off', '{"kind": "List", "items": [', /is not JSON/],
    ['holds a bare list', [without], /contains a list without a kind instead of a List of Node objects/],
    ['holds something else', { kind: 'Deployment' }, /contains a Deployment without items instead of a List/],
    ['holds pods', list({ kind: 'Pod', metadata: { name: 'p' } }), /items\[0\] is a Pod, and not a Node/],
    [
      'holds a typed list of pods',
      { kind: 'PodList', items: [] },
      /contains a PodList instead of a List of Node objects/,
    ],
    ['holds a node without a name', list({ kind: 'Node' }), /items\[0\] has no metadata\.name/],
    ['holds nobody', list(), /contains no nodes; check with `kubectl get nodes` that the cluster has nodes/],
    ['holds no GPU', list(without), /None of 1 node in .* has GPUs: status\.allocatable must contain nvidia\.com\/gpu/],
  ])('is refused where it %s', async (_sentence, content, message) => {
    const { code, err } = await place(LAYOUT, '--nodes', aFile('nodes.json', content));
    expect(err).toMatch(message);
    expect(code).toBe(1);
  });

  it('is refused where it is not there', async () => {
    const { err } = await place(LAYOUT, '--nodes', join(directory, 'none.json'));
    expect(err).toMatch(/^Cannot read .*none\.json: there is no such file/);
  });

  it('is read no farther than its bound, however long it is', async () => {
    const { err } = await place(LAYOUT, '--nodes', '/dev/zero');
    expect(err).toMatch(/^\/dev\/zero is larger than 256 MiB, .*kubectl get nodes -o json \| jq/);
  });

  it('may be one Node alone, as kubectl get node NAME prints it', async () => {
    const { code } = await place({ tensorParallelDegree: 8 }, '--nodes', aFile('one.json', aNode('a')));
    expect(code).toBe(0);
  });

  it('cannot be standard input together with that of pods', async () => {
    const { err } = await place(LAYOUT, '--nodes', '-', '--busy', '-');
    expect(err).toMatch(/cannot both be standard input/);
  });

  it('is not given together with a cluster to ask', async () => {
    const { err, code } = await place(LAYOUT, '--nodes', NODES, '--context', 'prod');
    expect(err).toBe('--nodes reads the nodes from a file, so --context has no effect; leave out one of them.');
    expect(code).toBe(1);
  });

  it('is not needed where a kubeconfig names a cluster; one that is not there is told', async () => {
    const { err, code } = await place(LAYOUT, '--kubeconfig', join(directory, 'none.kubeconfig'));
    expect(err).toMatch(
      /^Cannot read the cluster: .*[^.]\. Choose another cluster with --kubeconfig or --context, or give its nodes as a file with --nodes\.$/s,
    );
    expect(code).toBe(2);
  });
});
