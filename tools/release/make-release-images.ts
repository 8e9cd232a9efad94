import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { billOfMaterials } from '../images/bill-of-materials.ts';
import { IMAGE_NAMES } from '../images/image-names.ts';
import { makeImages } from '../images/make-images.ts';
import { thisArchitecture } from '../images/pinned-node.ts';
import { makePostgresImage, POSTGRES } from '../images/postgres.ts';
import type { ReleaseWork } from './release-work.ts';

/** The images that a release has: all but the engine's, because its base with PyTorch and CUDA is a choice of those who train. */
export const RELEASED_IMAGES = IMAGE_NAMES.filter((name) => !name.startsWith('engine-'));

/** Writes images to the folder `images`, and one of PostgreSQL for the chart's own database. */
export async function makeReleaseImages(work: ReleaseWork, base: string | undefined): Promise<void> {
  const out = join(work.out, 'images');
  await makeImages(
    {
      help: false,
      names: RELEASED_IMAGES,
      base,
      out,
      architecture: thisArchitecture(),
      stageOnly: false,
      tag: undefined,
      format: 'oci-archive',
    },
    { progress: work.progress, directory: work.temporary },
  );
  await work.progress.step('image postgres', async () => {
    const archive = join(out, 'postgres.tar');
    const components = await makePostgresImage(work.temporary, { archive, format: 'oci-archive' });
    const subject = { type: 'container', name: POSTGRES.repository, version: POSTGRES.tag } as const;
    writeFileSync(join(out, 'postgres.sbom.cdx.json'), billOfMaterials(subject, components));
  });
}
