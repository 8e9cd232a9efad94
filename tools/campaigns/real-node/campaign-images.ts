import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImageBuilder } from '../../images/build.ts';
import { makeDebianBase, SMALL_BASE } from '../../images/debian-base.ts';
import { ROOT } from '../../images/image-names.ts';
import { command } from './command.ts';
import { SANDBOX_IMAGE } from './node-config.ts';

const NEEDED = ['operator', 'api', 'launcher', 'engine-reference'] as const;
/** The chart's values for the image. */
export const POSTGRES = { repository: 'docker.io/coxswain/postgres', major: '15', tag: '15-debian' } as const;
/** The server, what it loads, and what the chart's script calls; names are those of Debian 12. */
const POSTGRES_PACKAGES = [
  ...SMALL_BASE,
  ...['dash', 'coreutils', 'sed', 'libc-bin', 'tzdata', 'postgresql-15', 'postgresql-client-15', 'libpq5', 'libicu72'],
  ...['libldap-2.5-0', 'libsasl2-2', 'libgssapi-krb5-2', 'libkrb5-3', 'libk5crypto3', 'libkrb5support0', 'libcom-err2'],
  ...['libkeyutils1', 'libpam0g', 'libaudit1', 'libcap-ng0', 'libssl3', 'libxml2', 'liblzma5', 'liblz4-1', 'libzstd1'],
  ...['zlib1g', 'libsystemd0', 'libgcrypt20', 'libgpg-error0', 'libcap2', 'libreadline8', 'libtinfo6', 'libselinux1'],
  ...['libpcre2-8-0', 'libacl1', 'libattr1', 'libgmp10', 'libuuid1', 'libgnutls30', 'libp11-kit0', 'libidn2-0'],
  ...['libunistring2', 'libtasn1-6', 'libnettle8', 'libhogweed6', 'libffi8', 'libbsd0', 'libmd0'],
];
const PAUSE = '/usr/bin/catatonit';

/** Builds what the nodes need into `directory`: our images, and the one that holds a pod together. */
export async function makeCampaignImages(directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const bootstrap = [join(ROOT, 'tools/bootstrap.mjs'), join(ROOT, 'tools/images/main.ts')];
  await command(process.execPath, [...bootstrap, ...NEEDED, '--out', directory], { cwd: ROOT });
  await makePause(directory);
  await makePostgres(directory);
}

/** PostgreSQL for the chart's own database, of Debian's packages: `initdb`, `postgres` and `pg_isready` on its PATH. */
async function makePostgres(directory: string): Promise<void> {
  const base = join(directory, 'postgres-base');
  const context = join(directory, 'postgres-context');
  await makeDebianBase(POSTGRES_PACKAGES, base);
  const builder = new ImageBuilder(join(directory, 'buildah'));
  const image = await builder.addBase('postgres-base', join(base, 'root'));
  mkdirSync(context, { recursive: true });
  const path = `/usr/lib/postgresql/${POSTGRES.major}/bin:/usr/bin:/bin`;
  writeFileSync(join(context, 'Dockerfile'), `FROM ${image}\nENV PATH=${path}\n`);
  await builder.build({
    context,
    image: `${POSTGRES.repository}:${POSTGRES.tag}`,
    arguments: {},
    archive: join(directory, 'postgres.tar'),
  });
  for (const made of [base, context, join(directory, 'buildah')]) rmSync(made, { recursive: true, force: true });
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
