import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from '@coxswain/local-cluster';
import { archiveFolder } from './archive-folder.ts';

/** How an image is written to a file. `docker load` of every release takes the first; the second keeps the digest that a registry gives the image. */
export type ArchiveFormat = 'docker-archive' | 'oci-archive';

/** Builds images without an engine: buildah, in a store of its own. Root only. */
export class ImageBuilder {
  readonly #store: readonly string[];
  readonly #directory: string;

  /** Everything is kept below `directory`; the caller removes it. */
  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
    this.#store = ['--root', join(directory, 'store'), '--runroot', join(directory, 'run'), '--storage-driver', 'vfs'];
    // A base is named in full, and nothing is looked for elsewhere.
    writeFileSync(join(directory, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}\n');
  }

  /** One sentence on why nothing can be built here, or undefined. */
  static whyNot(): string | undefined {
    if (process.getuid?.() !== 0) return 'images are built by root: buildah changes owners and roots of folders';
    if (onPath('buildah') === undefined) return 'buildah is not on PATH; run: apt-get install -y buildah';
    return undefined;
  }

  /** Makes a root folder an image that others are built upon, and gives its name. */
  async addBase(name: string, root: string): Promise<string> {
    const image = `localhost/coxswain/${name}:dev`;
    const context = join(this.#directory, `context-${name}`);
    mkdirSync(context, { recursive: true });
    writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n');
    await this.#build(['--file', join(context, 'Dockerfile'), '--tag', image, root]);
    rmSync(context, { recursive: true });
    return image;
  }

  /** Builds the Dockerfile of `context`; gives the size of the archive that it writes to `archive`, in bytes. */
  async build(options: {
    readonly context: string;
    readonly image: string;
    readonly arguments: Readonly<Record<string, string>>;
    readonly archive: string;
    readonly format?: ArchiveFormat;
  }): Promise<number> {
    const { context, image, archive, format = 'docker-archive' } = options;
    const args = Object.entries(options.arguments).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    await this.#build([...args, '--tag', image, context]);
    rmSync(archive, { force: true });
    if (format === 'docker-archive') await this.#push(image, `docker-archive:${archive}:${image}`);
    else await this.#pushLayout(image, archive);
    return statSync(archive).size;
  }

  /** buildah's own archive of a layout has the time at which it is written. */
  async #pushLayout(image: string, archive: string): Promise<void> {
    const layout = join(this.#directory, 'layout');
    await this.#push(image, `oci:${layout}:${image}`);
    await archiveFolder(layout, archive);
    rmSync(layout, { recursive: true });
  }

  #push(image: string, to: string): Promise<void> {
    return this.#buildah(['push', '--quiet', '--signature-policy', this.#policy, image, to]);
  }

  #build(args: readonly string[]): Promise<void> {
    const always = ['--isolation', 'chroot', '--signature-policy', this.#policy, '--layers=false', '--timestamp', '0'];
    return this.#buildah(['build', ...always, '--quiet', ...args]);
  }

  get #policy(): string {
    return join(this.#directory, 'policy.json');
  }

  async #buildah(args: readonly string[]): Promise<void> {
    const [verb = '', ...rest] = args;
    try {
      await promisify(execFile)('buildah', [...this.#store, verb, ...rest], { maxBuffer: 2 ** 26 });
    } catch (error) {
      const { stderr = '' } = error as { stderr?: string };
      throw new Error(`buildah ${verb} failed: ${stderr.trim().split('\n').slice(-5).join('\n')}`, { cause: error });
    }
  }
}
