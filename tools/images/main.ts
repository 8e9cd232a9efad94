/** `npm run images`: builds the images of `images/` here, or makes the contexts that any builder takes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureSetup } from '../setup/ensure-setup.ts';
import { progressOn, secondsSince } from '../setup/progress.ts';
import { ROOT } from './image-names.ts';
import { makeImages, whyNoImages } from './make-images.ts';
import { HELP, parseOptions } from './options.ts';
import { thisArchitecture } from './pinned-node.ts';

async function main(argv: readonly string[]): Promise<void> {
  // Folders of a base that are made here are for everybody too.
  process.umask(0o022);
  const options = parseOptions(argv, thisArchitecture());
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const why = options.stageOnly ? undefined : whyNoImages(options);
  if (why !== undefined) throw new Error(`${why}; --stage-only makes everything but the images`);
  const progress = progressOn(process.stderr);
  const started = performance.now();
  await ensureSetup({ progress, only: ['builds'] });
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-images-'));
  try {
    await makeImages(options, { progress, directory });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  progress.say(`Done in ${secondsSince(started)}: ${resolve(ROOT, options.out)}`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
