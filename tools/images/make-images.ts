import { copyFileSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Progress } from '../setup/progress.ts';
import type { BillComponent } from './bill-of-materials.ts';
import { ImageBuilder } from './build.ts';
import { ENGINE_BASE, makeDebianBase, SMALL_BASE, whyNoDebian } from './debian-base.ts';
import { coxswainVersion, ROOT, type ImageName } from './image-names.ts';
import type { ImagesOptions } from './options.ts';
import { pinnedNode } from './pinned-node.ts';
import { BILL_PATH, stageImage } from './stage.ts';

interface Work {
  readonly progress: Progress;
  /** Removed at the end. */
  readonly directory: string;
}

/** One sentence on why no image can be built here, or undefined. */
export function whyNoImages({ base }: Pick<ImagesOptions, 'base'>): string | undefined {
  return ImageBuilder.whyNot() ?? (base === undefined ? whyNoDebian() : undefined);
}

/** Builds images, or makes their contexts. The programs that they hold must be built. */
export async function makeImages(options: ImagesOptions, work: Work): Promise<void> {
  const { names, architecture, stageOnly } = options;
  const out = resolve(ROOT, options.out);
  mkdirSync(out, { recursive: true });
  const nodePath = await pinnedNode(architecture, work.directory);
  const bases = new Bases(options, work);
  for (const name of names) {
    await work.progress.step(`image ${name}`, async (note) => {
      const base = stageOnly ? undefined : await bases.of(name);
      const context = join(stageOnly ? out : work.directory, name);
      const baseComponents = base?.components ?? [];
      await stageImage(name, { directory: context, architecture, nodePath, baseComponents });
      if (base === undefined) return;
      note(await bases.build(name, { context, base: base.image, out }));
      copyFileSync(join(context, 'root', BILL_PATH), join(out, `${name}.sbom.cdx.json`));
    });
  }
}

/** What images are built upon: as asked for, or made once of Debian's packages. */
class Bases {
  readonly #options: ImagesOptions;
  readonly #work: Work;
  readonly #made = new Map<string, Promise<Base>>();
  readonly #builder: ImageBuilder;

  constructor(options: ImagesOptions, work: Work) {
    this.#options = options;
    this.#work = work;
    this.#builder = new ImageBuilder(join(work.directory, 'buildah'));
  }

  async of(name: ImageName): Promise<Base> {
    if (this.#options.base !== undefined) return { image: this.#options.base, components: [] };
    const kind = name === 'engine-reference' ? 'engine-base' : 'base';
    const made = this.#made.get(kind) ?? this.#make(kind);
    this.#made.set(kind, made);
    return made;
  }

  async #make(kind: 'base' | 'engine-base'): Promise<Base> {
    const folder = join(this.#work.directory, kind);
    const components = await makeDebianBase(kind === 'base' ? SMALL_BASE : ENGINE_BASE, folder);
    return { image: await this.#builder.addBase(kind, join(folder, 'root')), components };
  }

  /** Gives what to tell about the image. */
  async build(
    name: ImageName,
    parts: { readonly context: string; readonly base: string; readonly out: string },
  ): Promise<string> {
    const tag = this.#options.tag ?? coxswainVersion();
    const image = `coxswain/${name}:${tag}`;
    const archive = join(parts.out, `${name}.tar`);
    const bytes = await this.#builder.build({
      context: parts.context,
      image: `docker.io/${image}`,
      arguments: { BASE: parts.base, VERSION: tag },
      archive,
      format: this.#options.format,
    });
    return `${image}, ${(bytes / 1e6).toFixed(0)} MB`;
  }
}

interface Base {
  readonly image: string;
  readonly components: readonly BillComponent[];
}
