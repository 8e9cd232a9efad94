import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** What stands in for a container image on this machine. Relative paths start at the file's own folder. */
const LocalImage = z.strictObject({
  /** A folder whose entries appear at `/`, above the host's own. Keep it small: folders that both have are merged. */
  root: z.string().optional(),
  /** Environment that the image sets; a container's own wins. */
  env: z.record(z.string(), z.string()).default({}),
  /** Folders searched for commands before the usual ones. */
  pathPrepend: z.array(z.string()).default([]),
  workingDir: z.string().optional(),
});
/** What stands in for one image: its files, environment and working directory. */
export type LocalImage = z.infer<typeof LocalImage>;

/** Which images this machine has. */
export const ImagesFile = z.strictObject({ images: z.record(z.string(), LocalImage) });
export type ImagesFile = z.infer<typeof ImagesFile>;

/** The images of one file, read again for each container, so that an image can be added while a pod waits for it. */
export class LocalImages {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Throws an error that names the file and the field when the file is wrong. */
  read(): ImagesFile {
    const parsed = ImagesFile.safeParse(parse(readFileSync(this.path, 'utf8')));
    if (!parsed.success) {
      throw new Error(`${this.path} is no images file: ${z.prettifyError(parsed.error)}`, { cause: parsed.error });
    }
    return parsed.data;
  }

  /** The image of that name, or a sentence why there is none. A missing tag means `latest`, on both sides. */
  find(name: string): { readonly image: LocalImage } | { readonly problem: string } {
    let images: ImagesFile['images'];
    try {
      images = this.read().images;
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
    const found = Object.entries(images).find(([known]) => tagged(known) === tagged(name));
    if (found === undefined) {
      return { problem: `failed to pull image "${name}": not found: ${this.path} has no entry of that name` };
    }
    const base = dirname(resolve(this.path));
    const image = found[1];
    return {
      image: {
        ...image,
        pathPrepend: image.pathPrepend.map((folder) => resolve(base, folder)),
        ...(image.root === undefined ? {} : { root: resolve(base, image.root) }),
      },
    };
  }
}

function tagged(name: string): string {
  return /[:@][^/]*$/.test(name) ? name : `${name}:latest`;
}
