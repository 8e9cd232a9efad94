import { copyFileSync, existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import {
  enginePythonDirectory,
  lookUpEnginePython,
  lookUpUpstreamPython,
  torchExtensionsDirectory,
} from '../programs/engine-python.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const LAUNCHER = join(ROOT, 'apps/launcher/dist/coxswain-launcher');

/** Image names that stand for what this checkout holds. */
export const LOCAL_IMAGES = {
  launcher: 'coxswain/launcher:dev',
  reference: 'coxswain/engine-reference:dev',
  /** Python without PyTorch: the engine that sleeps instead of training. */
  sleeper: 'coxswain/engine-sleeper:dev',
  /** TorchTitan, DeepSpeed, Transformers and ft_launcher on CPU ranks; there once `npm run setup -- upstream-engines` has made it. */
  upstream: 'coxswain/engines-upstream:dev',
} as const;

/** Writes the file that maps image names to folders of this machine, and returns its path. */
export function writeImagesFile(directory: string): string {
  const images = join(directory, 'images');
  const launcher = join(images, 'launcher/usr/local/bin/coxswain-launcher');
  if (!existsSync(LAUNCHER)) throw new Error(`${LAUNCHER} is not built yet; run "npm run setup" once`);
  mkdirSync(dirname(launcher), { recursive: true });
  rmSync(launcher, { force: true });
  linkOrCopy(LAUNCHER, launcher);
  const pythonPath = ['agent', 'reference', 'sleeper'].map((engine) => join(ROOT, 'engines', engine)).join(':');
  const python = lookUpEnginePython();
  const upstream = lookUpUpstreamPython();
  const path = join(directory, 'images.yaml');
  const file = {
    images: {
      [LOCAL_IMAGES.launcher]: { root: join(images, 'launcher') },
      [LOCAL_IMAGES.sleeper]: { env: { PYTHONPATH: pythonPath } },
      ...(python === undefined
        ? {}
        : {
            [LOCAL_IMAGES.reference]: {
              env: { PYTHONPATH: pythonPath, OMP_NUM_THREADS: '1' },
              pathPrepend: [dirname(python)],
            },
          }),
      ...(upstream === undefined ? {} : { [LOCAL_IMAGES.upstream]: upstreamImage(upstream) }),
    },
  };
  writeFileSync(path, stringify(file));
  return path;
}

/** torchrun is the layer's below, which starts the first `python3` on the path. */
function upstreamImage(python: string): object {
  return {
    env: {
      PYTHONPATH: ['torchtitan-cpu', 'upstream/programs'].map((folder) => join(ROOT, 'engines', folder)).join(':'),
      OMP_NUM_THREADS: '1',
      DS_ACCELERATOR: 'cpu',
      TORCH_EXTENSIONS_DIR: torchExtensionsDirectory(),
      HF_HUB_OFFLINE: '1',
    },
    pathPrepend: [dirname(python), join(enginePythonDirectory(), 'bin')],
  };
}

/** The launcher is 100 MB: a second name for the same bytes where the file system allows it. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
