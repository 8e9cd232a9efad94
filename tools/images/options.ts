import { parseArgs } from 'node:util';
import type { ArchiveFormat } from './build.ts';
import type { Architecture } from './elf.ts';
import { IMAGE_NAMES, type ImageName } from './image-names.ts';

/** Options of `npm run images`. */
export interface ImagesOptions {
  readonly help: boolean;
  readonly names: readonly ImageName[];
  /** Image that the others are built upon; undefined: one of this machine's Debian packages. */
  readonly base: string | undefined;
  readonly out: string;
  readonly architecture: Architecture;
  /** Make the contexts of the Dockerfiles, and build nothing. */
  readonly stageOnly: boolean;
  readonly tag: string | undefined;
  readonly format: ArchiveFormat;
}

/** Text of `npm run images -- --help`. */
export const HELP = `npm run images -- [options] [names]

Builds the images of Coxswain without a container engine: buildah, as root, upon a few packages of this Debian. Each
becomes an archive that "ctr images import", "podman load" and "docker load" take. Images, all unless named:
${IMAGE_NAMES.join(', ')}

  --base IMAGE     build upon this image, which needs glibc and libstdc++ (engine-reference: Python with PyTorch too)
  --out DIR        where archives and bills of materials go (default: dist/images)
  --tag TAG        default: the version of package.json
  --stage-only     write DIR/<name> with Dockerfile and files, for any builder; nothing is built, root is not needed
  --arch ARCH      amd64 or arm64 (default: this machine's); another one than this machine's only with --stage-only,
                   and without the launcher, which is built on such a machine
  --help           print this
`;

/** Throws an error with a sentence for the user when an option is unknown or its value wrong. */
export function parseOptions(argv: readonly string[], here: Architecture): ImagesOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      base: { type: 'string' },
      out: { type: 'string', default: 'dist/images' },
      tag: { type: 'string' },
      'stage-only': { type: 'boolean', default: false },
      arch: { type: 'string', default: here },
    },
  });
  const architecture = values.arch;
  if (architecture !== 'amd64' && architecture !== 'arm64') {
    throw new Error(`--arch is amd64 or arm64, not "${architecture}"`);
  }
  const stageOnly = values['stage-only'];
  if (architecture !== here && !stageOnly) {
    throw new Error(`images for ${architecture} are built on such a machine; here, add --stage-only`);
  }
  const names = positionals.length === 0 ? namesFor(architecture === here) : positionals.map(imageNamed);
  const { help, base, out, tag } = values;
  return { help, names, base, out, architecture, stageOnly, tag, format: 'docker-archive' };
}

function namesFor(isThisMachine: boolean): readonly ImageName[] {
  return IMAGE_NAMES.filter((name) => isThisMachine || name !== 'launcher');
}

function imageNamed(name: string): ImageName {
  const found = IMAGE_NAMES.find((known) => known === name);
  if (found === undefined) throw new Error(`there is no image "${name}"; the images are ${IMAGE_NAMES.join(', ')}`);
  return found;
}
