import { mkdirSync, mkdtempSync, renameSync, rmSync, chmodSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  BINARY_VERSIONS,
  cacheDirectory,
  cachedBinary,
  lookUpBinary,
  removeOwnFolders,
  withLock,
  type BinaryName,
} from '@coxswain/local-cluster';
import { committedSum } from './committed-sums.ts';
import { download, publishedSum } from './download.ts';
import type { Task } from './estimate.ts';
import { GO_BUILDS, goBuild, whyNoGo, type GoBuild } from './go-builds.ts';
import { officialRelease, type Release } from './official-releases.ts';
import type { Progress } from './progress.ts';

/** Makes programs of the local cluster available: as found, as downloaded, or as built here. */
export async function ensureBinaries(names: readonly BinaryName[], progress: Progress): Promise<void> {
  if ((await missingBinaries(names)).length === 0) {
    return;
  }
  await withLock('binaries', () => makeMissing(names, progress), {
    onWait: (pid) => progress.say(`  process ${pid} is making the Kubernetes programs; waiting for it`),
  });
}

/** What {@link ensureBinaries} will have to do. Asks whether the official downloads are in reach. */
export async function binaryTasks(names: readonly BinaryName[]): Promise<Task[]> {
  const missing = await missingBinaries(names);
  const published = missing.filter((name) => releaseOf(name) !== undefined);
  const first = published.map(releaseOf).find((release) => release !== undefined);
  if (first !== undefined && (await publishedSum(first)) !== undefined) {
    const title = `download of ${published.join(', ')}`;
    const waitSeconds = DOWNLOAD_SECONDS * published.length;
    return [
      { title, lane: 'programs', cpuSeconds: 0, parallel: 1, waitSeconds },
      ...buildTasksOf(missing.filter((name) => !published.includes(name))),
    ];
  }
  return buildTasksOf(missing);
}

function buildTasksOf(missing: readonly BinaryName[]): Task[] {
  return buildsOf(missing).map(({ build, wanted }) => ({
    title: `build of ${build.name} ${BINARY_VERSIONS[wanted[0]]}`,
    lane: build.lane,
    cpuSeconds: build.cpuSeconds,
    parallel: Infinity,
    waitSeconds: 0,
  }));
}

async function missingBinaries(names: readonly BinaryName[]): Promise<BinaryName[]> {
  const paths = await Promise.all(names.map((name) => lookUpBinary(name)));
  return names.filter((_, index) => paths[index] === undefined);
}

async function makeMissing(names: readonly BinaryName[], progress: Progress): Promise<void> {
  const root = join(cacheDirectory(), 'bin');
  mkdirSync(root, { recursive: true });
  // Left by a build that was killed. This process holds the lock, so no other build of this user runs.
  removeOwnFolders(root, (name) => name.startsWith(UNFINISHED));
  const workshop = mkdtempSync(join(root, UNFINISHED));
  try {
    for (const name of await missingBinaries(names)) {
      const release = releaseOf(name);
      if (release === undefined) continue;
      if (!(await downloaded({ name, release }, workshop, progress))) {
        break; // One host out of reach means the others are too, and each would cost its own wait.
      }
    }
    await buildFromSource(await missingBinaries(names), workshop, progress);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

function releaseOf(name: BinaryName): Release | undefined {
  return officialRelease(name, process.arch === 'x64' ? 'amd64' : 'arm64');
}

/** Each is 20 to 100 MB. */
const DOWNLOAD_SECONDS = 5;
const UNFINISHED = 'unfinished-';

async function downloaded(
  { name, release }: { readonly name: BinaryName; readonly release: Release },
  workshop: string,
  progress: Progress,
): Promise<boolean> {
  const published = await publishedSum(release);
  if (published === undefined) {
    progress.say(`  ${new URL(release.url).host} is out of reach; building from source instead`);
    return false;
  }
  const committed = committedSum(release);
  if (committed === undefined) {
    progress.say(
      `  ${name}: this repository names no SHA-256 of it; ${new URL(release.checksum.url).host} is believed`,
    );
  }
  const sum = committed ?? published;
  const target = join(workshop, name);
  await progress.step(`download ${name} ${BINARY_VERSIONS[name]}`, () => download(release, sum, target));
  publish(name, target);
  return true;
}

async function buildFromSource(missing: readonly BinaryName[], workshop: string, progress: Progress): Promise<void> {
  if (missing.length === 0) {
    return;
  }
  const noGo = await whyNoGo();
  if (noGo !== undefined) {
    throw new Error(
      `${missing.join(', ')}: there is no official download in reach and ${noGo}; install Go 1.21 or later, ` +
        'or set KUBEBUILDER_ASSETS to a folder that has these programs at ' +
        missing.map((name) => `${name} ${BINARY_VERSIONS[name]}`).join(', '),
    );
  }
  const builds = buildsOf(missing);
  const lanes = [...new Set(builds.map(({ build }) => build.lane))];
  await Promise.all(
    lanes.map(async (lane) => {
      for (const chosen of builds.filter(({ build }) => build.lane === lane)) {
        await buildOne(chosen, workshop, progress);
      }
    }),
  );
}

/** A build, and the programs of it that are wanted. */
interface ChosenBuild {
  readonly build: GoBuild;
  readonly wanted: readonly [BinaryName, ...BinaryName[]];
}

function buildsOf(missing: readonly BinaryName[]): ChosenBuild[] {
  return GO_BUILDS.flatMap((build) => {
    const [first, ...rest] = build.binaries.filter((name) => missing.includes(name));
    return first === undefined ? [] : [{ build, wanted: [first, ...rest] }];
  });
}

async function buildOne({ build, wanted }: ChosenBuild, workshop: string, progress: Progress): Promise<void> {
  const title = `build ${build.name} ${BINARY_VERSIONS[wanted[0]]} from its Go module`;
  await progress.step(title, () => goBuild(build, wanted, workshop));
  wanted.forEach((name) => publish(name, join(workshop, name)));
}

/** By one rename, so that nobody ever sees half a program. */
function publish(name: BinaryName, from: string): void {
  const target = cachedBinary(name);
  mkdirSync(dirname(target), { recursive: true });
  chmodSync(from, 0o755);
  renameSync(from, target);
}
