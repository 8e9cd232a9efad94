import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { findBinary } from '@coxswain/local-cluster';
import { command } from '../campaigns/real-node/command.ts';
import { archiveFolder } from '../images/archive-folder.ts';
import { coxswainVersion, ROOT } from '../images/image-names.ts';
import type { ReleaseWork } from './release-work.ts';

/** Writes the chart to the folder `charts`: what `helm package` packs, with the time of the release in place of the current one. */
export async function makeChart({ out, temporary, seconds }: Omit<ReleaseWork, 'progress'>): Promise<void> {
  const name = `coxswain-${coxswainVersion()}`;
  const [charts, unpacked] = [join(out, 'charts'), join(temporary, 'chart')];
  for (const folder of [charts, unpacked]) mkdirSync(folder, { recursive: true });
  const helm = await findBinary('helm');
  const chart = join(ROOT, 'charts/coxswain');
  await command(helm, ['lint', '--strict', chart]);
  await command(helm, ['package', chart, '--destination', temporary]);
  await command('tar', ['-xzf', join(temporary, `${name}.tgz`), '-C', unpacked]);
  const archive = join(temporary, `${name}.tar`);
  await archiveFolder(unpacked, archive, seconds);
  // Node's gzip writes neither name nor time.
  writeFileSync(join(charts, `${name}.tgz`), gzipSync(readFileSync(archive), { level: 9 }));
}
