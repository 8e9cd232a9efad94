import { cacheDirectory, waitFor } from '@coxswain/local-cluster';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { coxswainVersion, ROOT } from '../images/image-names.ts';
import { ensureBinaries } from '../setup/binaries.ts';
import { progressOn } from '../setup/progress.ts';
import { makeCampaignImages } from './real-node/campaign-images.ts';
import { removeCgroup } from './real-node/cgroups.ts';
import { command } from './real-node/command.ts';
import { parseOptions, type RealNodeOptions } from './real-node/options.ts';
import type { CampaignPlan } from './real-node/plan.ts';
import { machineFacts, missingPackages, whyNotHere } from './real-node/requirements.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Chart, images and a job on six real kubelets, as root on Debian 12; pods, kubelets and a node are killed (12 min once built; arguments: --install, --hold SECONDS, --images DIR, --release DIR, --from COMMIT).';

/** Folders of the machine that nodes put their own over; those that were not there go afterwards. */
const COVERED = ['/var/lib/kubelet', '/var/lib/cni'];

/** Packages that `--install` brings are no obstacle. */
export function requirements(args: readonly string[]): string | undefined {
  const facts = machineFacts();
  return whyNotHere(parseOptions(args).install ? { ...facts, missing: [] } : facts);
}

/** Resolves with true when every step passed. */
export async function run(args: readonly string[]): Promise<boolean> {
  const options = parseOptions(args);
  if (options.install) await install();
  const why = whyNotHere(machineFacts());
  if (why !== undefined) throw new Error(`the campaign cannot run here: ${why}`);
  const progress = progressOn(process.stderr);
  await ensureBinaries(['kubelet', 'kube-proxy', 'coredns', 'kubectl', 'helm'], progress);
  // Not below a folder with a long name: sockets lie in it.
  const directory = mkdtempSync(join(tmpdir(), 'real-node-'));
  const made = COVERED.filter((path) => !existsSync(path));
  made.forEach((path) => mkdirSync(path, { recursive: true }));
  const plan = await planFor(options, directory);
  try {
    if (options.images === undefined)
      await progress.step('images', () => makeCampaignImages(plan.images, options.release));
    return await runInside(plan);
  } finally {
    await clean(plan);
    made.forEach((path) => rmdirSync(path));
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The last processes take a moment to end, and hold their cgroups until then. */
async function clean({ cgroup }: CampaignPlan): Promise<void> {
  await waitFor(() => (removeCgroup(cgroup), true), { what: `the cgroup ${cgroup} to be empty`, deadlineMs: 30_000 });
}

async function install(): Promise<void> {
  const packages = missingPackages(machineFacts());
  if (packages.length === 0) return;
  await command('apt-get', ['update', '-q']);
  await command('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], {
    env: { DEBIAN_FRONTEND: 'noninteractive' },
  });
}

async function planFor(options: RealNodeOptions, directory: string): Promise<CampaignPlan> {
  const released = options.release === undefined ? undefined : await unpackedChart(options.release, directory);
  return {
    directory: join(directory, 'run'),
    images: options.images === undefined ? join(directory, 'images') : resolve(options.images),
    cgroup: `coxswain-real-node-${process.pid}`,
    chart: released ?? join(ROOT, 'charts/coxswain'),
    earlierChart:
      released !== undefined && options.from === undefined ? released : await chartOf(options.from, directory),
    tag: coxswainVersion(),
    otherTag: `${coxswainVersion()}-next`,
    holdSeconds: options.holdSeconds,
  };
}

/** The chart of a release as a folder, which steps read too. */
async function unpackedChart(release: string, directory: string): Promise<string> {
  const folder = join(directory, 'released');
  mkdirSync(folder);
  const archive = join(release, `charts/coxswain-${coxswainVersion()}.tgz`);
  await command('tar', ['-xzf', archive, '-C', folder]);
  return join(folder, 'coxswain');
}

/** The chart of an earlier commit. */
async function chartOf(commit: string | undefined, directory: string): Promise<string> {
  const archive = join(directory, 'earlier.tar');
  const earlier = commit ?? (await earlierChartCommit());
  await command('git', ['-C', ROOT, 'archive', '--output', archive, earlier, 'charts/coxswain']);
  await command('tar', ['-xf', archive, '-C', directory]);
  return join(directory, 'charts/coxswain');
}

/** The commit before the newest that changed the chart. */
async function earlierChartCommit(): Promise<string> {
  const newest = await command('git', ['-C', ROOT, 'log', '-1', '--format=%H', '--', 'charts/coxswain']);
  return `${newest.trim()}~1`;
}

/**
 * Runs the campaign where it can neither reach nor leave anything: a network of its own, mounts of its own, and processes that end with the
 * first of them, however that ends.
 */
async function runInside(plan: CampaignPlan): Promise<boolean> {
  const program = join(import.meta.dirname, 'real-node/inside.ts');
  const apart = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const child = spawn('unshare', [...apart, 'catatonit', '--', process.execPath, program], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: {
      ...process.env,
      // Its programs' data and logs lie below the campaign's folder.
      COXSWAIN_RUN_DIR: plan.directory,
      XDG_CACHE_HOME: resolve(cacheDirectory(), '..'),
    },
  });
  const stop = (): void => void child.kill('SIGKILL');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
  child.stdin?.end(JSON.stringify(plan));
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
