import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from '../campaigns/real-node/command.ts';
import { billOfMaterials } from '../images/bill-of-materials.ts';
import { coxswainVersion } from '../images/image-names.ts';
import { packageComponents } from '../images/production-packages.ts';
import { writeCliPackage } from './cli-package.ts';
import type { ReleaseWork } from './release-work.ts';

/** Writes the command line to the folder `npm`. npm gives every file of a package the same time. */
export async function makeNpmPackage({ out, temporary }: Omit<ReleaseWork, 'progress'>): Promise<void> {
  const [folder, staged] = [join(out, 'npm'), join(temporary, 'npm')];
  mkdirSync(folder, { recursive: true });
  await writeCliPackage(staged);
  await command('npm', ['pack', '--pack-destination', folder, '--loglevel=error'], { cwd: staged });
  const version = coxswainVersion();
  const bill = billOfMaterials({ type: 'application', name: 'coxswain', version }, await packageComponents('apps/cli'));
  writeFileSync(join(folder, `coxswain-${version}.sbom.cdx.json`), bill);
}
