/** `npm run release`: makes everything that a release publishes, in one folder. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ROOT } from '../images/image-names.ts';
import { whyNoImages } from '../images/make-images.ts';
import { ensureBinaries } from '../setup/binaries.ts';
import { ensureSetup } from '../setup/ensure-setup.ts';
import { progressOn, secondsSince } from '../setup/progress.ts';
import { finishRelease } from './finish-release.ts';
import { makeChart } from './make-chart.ts';
import { makeNpmPackage } from './make-npm-package.ts';
import { makePythonPackage } from './make-python-package.ts';
import { makeReleaseImages } from './make-release-images.ts';
import { HELP, parseOptions, type ReleaseOptions, type ReleasePart } from './options.ts';
import { releaseSeconds } from './release-time.ts';
import type { ReleaseWork } from './release-work.ts';

async function main(argv: readonly string[]): Promise<void> {
  // What is packed is for everybody.
  process.umask(0o022);
  const options = parseOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const why = options.parts.includes('images') ? whyNoImages(options) : undefined;
  if (why !== undefined) throw new Error(`${why}; "charts npm python" makes everything but the images`);
  const out = resolve(ROOT, options.out);
  claimFolder(out);
  const progress = progressOn(process.stderr);
  const started = performance.now();
  if (options.parts.includes('images')) await ensureSetup({ progress, only: ['builds'] });
  if (options.parts.includes('charts')) await ensureBinaries(['helm'], progress);
  const temporary = mkdtempSync(join(tmpdir(), 'coxswain-release-'));
  try {
    await makeParts(options, { out, temporary, seconds: await releaseSeconds(), progress });
    await progress.step('guide and sums', () => finishRelease(out));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  progress.say(`Done in ${secondsSince(started)}: ${out}`);
}

/** Parts are removed before they are made again, so the folder must be a release; one that was not finished has empty sums. */
function claimFolder(out: string): void {
  mkdirSync(out, { recursive: true });
  const sums = join(out, 'SHA256SUMS');
  if (existsSync(sums)) return;
  if (readdirSync(out).length > 0)
    throw new Error(`${out} has files, but no SHA256SUMS of a release; name an empty folder`);
  writeFileSync(sums, '');
}

async function makeParts({ parts, base }: ReleaseOptions, work: ReleaseWork): Promise<void> {
  const makers: Record<ReleasePart, () => Promise<void>> = {
    images: () => makeReleaseImages(work, base),
    charts: () => makeChart(work),
    npm: () => makeNpmPackage(work),
    python: () => makePythonPackage(work),
  };
  for (const part of parts) {
    rmSync(join(work.out, part), { recursive: true, force: true });
    mkdirSync(join(work.out, part), { recursive: true });
    if (part === 'images') await makers[part]();
    else await work.progress.step(part, makers[part]);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
