import { copyFileSync, globSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImageBuilder } from '../../images/build.ts';
import { ROOT } from '../../images/image-names.ts';
import { makePostgresImage } from '../../images/postgres.ts';
import { command } from './command.ts';
import { SANDBOX_IMAGE } from './node-config.ts';

const NEEDED = ['operator', 'api', 'launcher', 'engine-reference'] as const;
const PAUSE = '/usr/bin/catatonit';

/**
 * Builds what the nodes need into `directory`: our images, PostgreSQL, and the one that holds a pod together. With the folder of a release, its images
 * are used, and only those are built that it has not.
 */
export async function makeCampaignImages(directory: string, release?: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const released = release === undefined ? [] : globSync('*.tar', { cwd: join(release, 'images') });
  for (const archive of released) symlinkSync(join(release ?? '', 'images', archive), join(directory, archive));
  const bootstrap = [join(ROOT, 'tools/bootstrap.mjs'), join(ROOT, 'tools/images/main.ts')];
  const names = NEEDED.filter((name) => !released.includes(`${name}.tar`));
  await command(process.execPath, [...bootstrap, ...names, '--out', directory], { cwd: ROOT });
  await makePause(directory);
  if (released.includes('postgres.tar')) return;
  await makePostgresImage(directory, { archive: join(directory, 'postgres.tar'), format: 'docker-archive' });
}

async function makePause(directory: string): Promise<void> {
  const context = join(directory, 'pause');
  mkdirSync(context, { recursive: true });
  copyFileSync(PAUSE, join(context, 'catatonit'));
  writeFileSync(
    join(context, 'Dockerfile'),
    'FROM scratch\nCOPY catatonit /catatonit\nUSER 65535:65535\nENTRYPOINT ["/catatonit", "-P"]\n',
  );
  const builder = new ImageBuilder(join(directory, 'buildah'));
  await builder.build({ context, image: SANDBOX_IMAGE, arguments: {}, archive: join(directory, 'pause.tar') });
  for (const made of [context, join(directory, 'buildah')]) rmSync(made, { recursive: true, force: true });
}
