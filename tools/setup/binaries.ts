import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, chmodSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  BINARY_NAMES,
  BINARY_VERSIONS,
  cacheDirectory,
  cachedBinary,
  lookUpBinary,
  withLock,
  type BinaryName,
} from '@coxswain/local-cluster';
import { download, publishedSum } from './download.ts';
import { GO_BUILDS, goBuild, whyNoGo } from './go-builds.ts';
import { officialRelease } from './official-releases.ts';
import type { Progress } from './progress.ts';

/** Makes every program of the local cluster available: as found, as downloaded, or as built here. */
export async function ensureBinaries(progress: Progress): Promise<void> {
  if ((await missingBinaries()).length === 0) {
    return;
  }
  await withLock('binaries', () => makeMissing(progress), {
    onWait: (pid) => progress.say(`  process ${pid} is making the Kubernetes programs; waiting for it`),
  });
}

async function missingBinaries(): Promise<BinaryName[]> {
  const paths = await Promise.all(BINARY_NAMES.map((name) => lookUpBinary(name)));
  return BINARY_NAMES.filter((_, index) => paths[index] === undefined);
}

async function makeMissing(progress: Progress): Promise<void> {
  const root = join(cacheDirectory(), 'bin');
  mkdirSync(root, { recursive: true });
  removeUnfinished(root);
  const workshop = mkdtempSync(join(root, UNFINISHED));
  try {
    for (const name of await missingBinaries()) {
      if (!(await downloaded(name, workshop, progress))) {
        break; // One host out of reach means the others are too, and each would cost its own wait.
      }
    }
    await buildFromSource(await missingBinaries(), workshop, progress);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

const UNFINISHED = 'unfinished-';

/** What a builder left that was killed. We hold the lock, so none is at work. */
function removeUnfinished(root: string): void {
  for (const entry of readdirSync(root).filter((name) => name.startsWith(UNFINISHED))) {
    rmSync(join(root, entry), { recursive: true, force: true });
  }
}

async function downloaded(name: BinaryName, workshop: string, progress: Progress): Promise<boolean> {
  const release = officialRelease(name, process.arch === 'x64' ? 'amd64' : 'arm64');
  const sum = await publishedSum(release);
  if (sum === undefined) {
    progress.say(`  ${new URL(release.url).host} is out of reach; building from source instead`);
    return false;
  }
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
      `${missing.join(', ')}: the official downloads are out of reach and ${noGo}; install Go 1.21 or later, ` +
        'or set KUBEBUILDER_ASSETS to a folder that has these programs at ' +
        missing.map((name) => `${name} ${BINARY_VERSIONS[name]}`).join(', '),
    );
  }
  for (const build of GO_BUILDS) {
    const wanted = build.binaries.filter((name) => missing.includes(name));
    if (wanted.length > 0) {
      const title = `build ${build.name} ${BINARY_VERSIONS[wanted[0] ?? 'etcd']} from its Go module`;
      const expectation = `about ${build.minutes} min on two cores the first time: all of its packages are compiled here`;
      await progress.step(title, async (note) => {
        note(expectation);
        await goBuild(build, wanted, workshop);
      });
      wanted.forEach((name) => publish(name, join(workshop, name)));
    }
  }
}

/** By one rename, so that nobody ever sees half a program. */
function publish(name: BinaryName, from: string): void {
  const target = cachedBinary(name);
  mkdirSync(dirname(target), { recursive: true });
  chmodSync(from, 0o755);
  renameSync(from, target);
}
