/** Do the runtimes that we show place and make pods on nodes like those of their platform, as far as an API server and a scheduler can tell? */
import type { TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { computeDomainsPath } from './cluster/paths.ts';
import { defineComputeDomains } from './testing/compute-domains.ts';
import { sharedWorld } from './testing/shared-world.ts';
import type { NodeOptions, World } from './testing/world.ts';

const DIRECTORY = join(import.meta.dirname, '../../../examples/runtimes');

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
});
afterEach(async () => {
  await world.clear();
  await world.plane.kubectl(['delete', 'clustertrainingruntimes,nodes', '--all']);
});
afterAll(() => world.stop());

const isRunning = ({ status }: TrainingJob): boolean => status?.state === 'Running';
const waits = ({ status }: TrainingJob): boolean =>
  status?.conditions?.some(({ reason }) => reason === 'WaitingForCapacity') === true;

interface Platform extends NodeOptions {
  readonly file: string;
  readonly gpus: number;
  readonly labels?: Readonly<Record<string, string>>;
}

const INSTANCE = 'node.kubernetes.io/instance-type';
const ACCELERATOR = 'cloud.google.com/gke-accelerator';
const EFA = 'vpc.amazonaws.com/efa';
const ARM64 = { key: 'kubernetes.io/arch', value: 'arm64', effect: 'NoSchedule' };

/** Nodes as the platforms' documents give them: GPUs, devices, labels and taints. */
const PLATFORMS: readonly Platform[] = [
  {
    file: 'aks-ndv5.yaml',
    gpus: 8,
    labels: { [INSTANCE]: 'Standard_ND96isr_H100_v5' },
    devices: { 'rdma/shared_ib': 63 },
    taints: [{ key: 'sku', value: 'gpu', effect: 'NoSchedule' }],
  },
  {
    file: 'coreweave.yaml',
    gpus: 8,
    labels: { 'backend.coreweave.cloud/flavor': 'infiniband' },
    devices: { 'rdma/ib': 1 },
  },
  { file: 'efa.yaml', gpus: 8, labels: { [INSTANCE]: 'p5.48xlarge' }, devices: { [EFA]: 32 } },
  { file: 'gke-gib.yaml', gpus: 8, labels: { [ACCELERATOR]: 'nvidia-h200-141gb' } },
  { file: 'gke-tcpx.yaml', gpus: 8, labels: { [ACCELERATOR]: 'nvidia-h100-80gb' } },
  { file: 'gke-tcpxo.yaml', gpus: 8, labels: { [ACCELERATOR]: 'nvidia-h100-mega-80gb' } },
  { file: 'oke-rdma-vf.yaml', gpus: 8, labels: { [INSTANCE]: 'BM.GPU.H200.8' }, devices: { 'nvidia.com/rdma-vf': 8 } },
  { file: 'rdma-shared.yaml', gpus: 8, devices: { 'rdma/shared_ib': 63 } },
  { file: 'rdma-sriov.yaml', gpus: 8, devices: { 'nvidia.com/rdma-vf': 8 } },
  { file: 'restricted.yaml', gpus: 8 },
  { file: 'tcp.yaml', gpus: 8 },
];
const RACK: Platform = {
  file: 'gb200.yaml',
  gpus: 4,
  labels: { [INSTANCE]: 'p6e-gb200.36xlarge', 'kubernetes.io/arch': 'arm64' },
  devices: { [EFA]: 4 },
  taints: [ARM64],
};

const makeNode = (name: string, { gpus, labels, devices, taints }: Platform): Promise<void> =>
  world.node(name, gpus, labels, {
    ...(devices === undefined ? {} : { devices }),
    ...(taints === undefined ? {} : { taints }),
  });

interface Runtime {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template: {
      readonly spec?: { readonly volumes?: readonly { readonly configMap?: { readonly name: string } }[] };
    };
  };
}

/** The ConfigMaps that an administrator makes in the job's namespace before pods can mount them. */
async function makeConfigMaps(namespace: string, { spec }: Runtime): Promise<void> {
  for (const { configMap } of spec.template.spec?.volumes ?? []) {
    if (configMap !== undefined)
      await world.plane.kubectl(['-n', namespace, 'create', 'configmap', configMap.name, '--from-literal=any=text']);
  }
}

/** A job that fills two nodes of the platform, with its runtime, which is applied. */
async function submit(platform: Platform): Promise<TrainingJob> {
  const path = join(DIRECTORY, platform.file);
  await world.plane.kubectl(['apply', '-f', path]);
  const runtime = parse(readFileSync(path, 'utf8')) as Runtime;
  const namespace = await world.namespace();
  await makeConfigMaps(namespace, runtime);
  const { gpus } = platform;
  return world.job(namespace, 'tiny', {
    runtimeRef: { name: runtime.metadata.name },
    engine: { name: 'command', command: ['sleep', '1'], image: 'example/trainer:1' },
    layout: { tensorParallelDegree: gpus, pipelineParallelDegree: 1, dataParallelDegree: 2 },
    resources: { gpusPerNode: gpus },
  });
}

describe('on nodes like those of its platform', () => {
  it.each(PLATFORMS.map((platform) => [platform.file, platform] as const))(
    '%s runs a gang',
    async (_file, platform) => {
      await Promise.all([makeNode('first', platform), makeNode('second', platform)]);
      await world.operator();
      await world.until(await submit(platform), 'running', isRunning);
    },
  );

  const withDevices = [...PLATFORMS, RACK].filter(({ devices }) => devices !== undefined);
  it.each(withDevices.map((platform) => [platform.file, platform] as const))(
    '%s waits where a node has one device too few, and says which',
    async (_file, platform) => {
      const [[device, count] = ['', 0]] = Object.entries(platform.devices ?? {});
      // A shared device stands for all NICs of a node: one too few is none.
      const asked = count === 63 ? 1 : count;
      await Promise.all([
        makeNode('first', platform),
        makeNode('second', { ...platform, devices: { [device]: asked - 1 } }),
      ]);
      await world.operator();
      const { status } = await world.until(await submit(platform), 'waiting', waits);
      const lacks = asked === 1 ? `no ${device}` : `${asked - 1} of ${asked} ${device}`;
      expect(status?.summary).toContain(`1 GPU node does not suit the job's runtime: 1 has ${lacks}.`);
    },
  );
});

interface Domain {
  readonly metadata: { readonly name: string; readonly ownerReferences: readonly { readonly uid: string }[] };
  readonly spec: { readonly channel: { readonly resourceClaimTemplate: { readonly name: string } } };
}
const DRIVER = 'compute-domain.nvidia.com';

const create = (path: string, body: object): Promise<unknown> => world.plane.admin.json({ method: 'POST', path, body });
const domainsOf = async (namespace: string): Promise<readonly Domain[]> =>
  (
    await world.plane.admin.json<{ readonly items: readonly Domain[] }>({
      method: 'GET',
      path: computeDomainsPath({ namespace }),
    })
  ).items;

/** What NVIDIA's driver makes of a domain: the template of its channels, of which each node has one. */
async function makeChannels(namespace: string, { spec }: Domain): Promise<void> {
  const { name } = spec.channel.resourceClaimTemplate;
  await create(`/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaimtemplates`, {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaimTemplate',
    metadata: { name },
    spec: { spec: { devices: { requests: [{ name: 'channel', exactly: { deviceClassName: DRIVER } }] } } },
  });
}

async function installDriver(nodes: readonly string[]): Promise<void> {
  await defineComputeDomains(world.plane);
  await create('/apis/resource.k8s.io/v1/deviceclasses', {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'DeviceClass',
    metadata: { name: DRIVER },
    spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
  });
  for (const nodeName of nodes) {
    await create('/apis/resource.k8s.io/v1/resourceslices', {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: `${nodeName}-channels` },
      spec: {
        driver: DRIVER,
        nodeName,
        pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'channel-0' }],
      },
    });
  }
}

describe('a runtime with a ComputeDomain', () => {
  it('says what is missing where the driver is not installed, and begins nothing', async () => {
    await Promise.all([makeNode('first', RACK), makeNode('second', RACK)]);
    await world.operator();
    const { status } = await world.until(
      await submit(RACK),
      'refused',
      ({ status: seen }) => seen?.conditions?.some(({ reason }) => reason === 'PodsRefused') === true,
    );
    expect(status?.summary).toMatch(/^the cluster has no ComputeDomains, .* install NVIDIA's DRA driver for GPUs/);
    expect(status?.epoch).toBe(0);
  });

  it('gives each gang one of its own, from which each pod claims a channel, and takes it away with the gang', async () => {
    await Promise.all([makeNode('first', RACK), makeNode('second', RACK)]);
    await installDriver(['first', 'second']);
    await world.operator();
    const job = await submit(RACK);
    const { namespace = '' } = job.metadata;
    const only = async (): Promise<Domain> => {
      let found: readonly Domain[] = [];
      await world.until(job, 'released', ({ status }) => status?.attempts?.at(-1)?.stage === 'Released');
      found = await domainsOf(namespace);
      expect(found).toHaveLength(1);
      return found[0] as Domain;
    };
    const first = await only();
    expect(first.metadata.ownerReferences).toMatchObject([{ uid: job.metadata.uid }]);
    await makeChannels(namespace, first);
    await world.until(job, 'running', isRunning);
    const claims = await world.plane.admin.json<{ readonly items: readonly unknown[] }>({
      method: 'GET',
      path: `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims`,
    });
    expect(claims.items).toHaveLength(2);

    const suspend = (value: boolean): Promise<string> =>
      world.plane.kubectl([
        '-n',
        namespace,
        'patch',
        'tjob',
        'tiny',
        '--type=merge',
        '-p',
        `{"spec":{"suspend":${value}}}`,
      ]);
    await suspend(true);
    await world.until(job, 'suspended', ({ status }) => status?.state === 'Suspended');
    await world.until(job, 'ended', ({ status }) => status?.attempts?.at(-1)?.stage === 'Ended');
    // It goes with the last pod, once the end is recorded.
    await waitFor(async () => (await domainsOf(namespace)).length === 0, { what: 'its domain to go' });
    await suspend(false);
    await world.until(job, 'begun again', ({ status }) => status?.epoch === 2);
    const second = await only();
    expect(second.metadata.name).not.toBe(first.metadata.name);
  });
});
