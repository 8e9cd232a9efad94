import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { command } from '../campaigns/real-node/command.ts';
import { billOfMaterials } from '../images/bill-of-materials.ts';
import { coxswainVersion, ROOT } from '../images/image-names.ts';
import { POSTGRES } from '../images/postgres.ts';
import { imageValues, type ReleasedImage } from './image-values.ts';

const GUIDE = join(ROOT, 'docs/tasks/install-without-internet.md');

/** Writes what follows from the other files of a release: values and bill of materials of the chart, the guide, and the sums. */
export async function finishRelease(out: string): Promise<void> {
  const version = coxswainVersion();
  const images = await Promise.all(globSync(join(out, 'images/*.tar')).sort().map(readImage));
  if (existsSync(join(out, 'charts')) && images.length > 0) {
    writeFileSync(join(out, 'charts/images.yaml'), imageValues(images));
    writeFileSync(join(out, `charts/coxswain-${version}.sbom.cdx.json`), chartBill(version, images));
  }
  writeFileSync(join(out, 'README.md'), guideOf(readFileSync(GUIDE, 'utf8'), version));
  writeFileSync(join(out, 'SHA256SUMS'), sumsOf(out));
}

/** The name, and the digest that a registry gives the image: that of its manifest, which the layout names. */
async function readImage(archive: string): Promise<ReleasedImage> {
  const name = basename(archive, '.tar');
  const index = JSON.parse(await command('tar', ['-xOf', archive, 'index.json'])) as {
    readonly manifests: readonly { readonly digest: string }[];
  };
  const [image, ...others] = index.manifests;
  if (image === undefined || others.length > 0) {
    throw new Error(`${archive} has ${index.manifests.length} images; an archive of a release has one`);
  }
  return { name, tag: name === 'postgres' ? POSTGRES.tag : coxswainVersion(), digest: image.digest };
}

function chartBill(version: string, images: readonly ReleasedImage[]): string {
  const components = images.map(({ name, tag, digest }) => ({
    type: 'container' as const,
    name: `coxswain/${name}`,
    version: tag,
    purl: `pkg:oci/${name}@${encodeURIComponent(digest)}?tag=${tag}`,
  }));
  return billOfMaterials({ type: 'application', name: 'coxswain chart', version }, components);
}

/** The page with the version in place of X.Y.Z, without links to other pages, which are not in the folder, and without what is for those who make it. */
export function guideOf(page: string, version: string): string {
  return page
    .replace(/<!-- begin: not in the folder -->[^]*?<!-- end -->\n*/, '')
    .replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, '$1')
    .replaceAll('X.Y.Z', version);
}

/** As `sha256sum` writes it and `sha256sum --check` reads it. */
export function sumsOf(folder: string): string {
  return globSync('**', { cwd: folder })
    .filter((path) => path !== 'SHA256SUMS' && statSync(join(folder, path)).isFile())
    .sort()
    .map(
      (path) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, path)))
          .digest('hex')}  ${path}\n`,
    )
    .join('');
}
