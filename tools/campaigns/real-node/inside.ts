/** The campaign itself, in namespaces of its own; tools/campaigns/real-node.ts makes those and starts it. */
import { findEnginePython } from '@coxswain/local-cluster';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareNetwork, startCluster, type RealCluster } from './cluster.ts';
import { databaseFor } from './database.ts';
import { pythonFolders, pythonPath, pythonPlaces } from './engine-python.ts';
import { installationSteps } from './installation-steps.ts';
import { Installation } from './installation.ts';
import { jobSteps } from './job-steps.ts';
import { readPlan, type CampaignPlan } from './plan.ts';
import { Steps } from './steps.ts';
import { Volumes } from './volumes.ts';

const GPU_NODES = 5;

async function main(plan: CampaignPlan): Promise<boolean> {
  const steps = new Steps((line) => void process.stdout.write(`${line}\n`));
  mkdirSync(plan.directory, { recursive: true });
  let cluster: RealCluster | undefined;
  await steps.run(
    `a control plane and ${GPU_NODES + 1} nodes, each with a kubelet and a containerd, are ready`,
    async () => {
      await prepareNetwork();
      cluster = await startCluster({ ...plan, gpuNodes: GPU_NODES });
      const { gpuNodes, system } = cluster;
      await Promise.all([system, ...gpuNodes].map((node) => node.ready()));
      await Promise.all(gpuNodes.map((node) => node.setGpus(1)));
      return undefined;
    },
  );
  if (cluster === undefined) return false;
  await runOn(cluster, { steps, plan });
  process.stdout.write(`${steps.passed} passed, ${steps.failed.length} failed\n`);
  return steps.failed.length === 0;
}

async function runOn(cluster: RealCluster, { steps, plan }: { steps: Steps; plan: CampaignPlan }): Promise<void> {
  const places = await pythonPlaces(findEnginePython());
  const python = { folders: pythonFolders(places), path: pythonPath(places) };
  await steps.run('our images are on the nodes', () => importImages(cluster, plan));
  const database = await databaseFor([plan.earlierChart, plan.chart], join(plan.directory, 'volumes/database'));
  try {
    const installation = new Installation(cluster);
    const volumes = new Volumes(cluster.plane, join(plan.directory, 'volumes'));
    const during = jobSteps({ cluster, installation, steps, volumes, python, tag: plan.tag });
    await installationSteps({ installation, steps, plan, database, during, cluster });
  } finally {
    if (plan.holdSeconds > 0) await hold(cluster, plan);
    await database.stop();
  }
}

async function importImages(cluster: RealCluster, { images, tag, otherTag }: CampaignPlan): Promise<undefined> {
  const { system, gpuNodes } = cluster;
  const archive = (name: string): string => join(images, `${name}.tar`);
  await Promise.all(
    [system, ...gpuNodes].map(async (node) => {
      const names =
        node === system ? ['pause', 'postgres', 'operator', 'api'] : ['pause', 'launcher', 'engine-reference'];
      for (const name of names) {
        await node.importImage(archive(name));
        if (name !== 'pause' && name !== 'postgres')
          await node.tagImage(`docker.io/coxswain/${name}`, { tag, otherTag });
      }
    }),
  );
}

async function hold(cluster: RealCluster, { holdSeconds }: CampaignPlan): Promise<void> {
  process.stdout.write(`kept for ${holdSeconds} s: KUBECONFIG=${cluster.plane.adminKubeconfigPath}\n`);
  await new Promise((resolve) => setTimeout(resolve, holdSeconds * 1000));
}

const succeeded = await main(readPlan(JSON.parse(readFileSync(0, 'utf8'))));
process.exit(succeeded ? 0 : 1);
