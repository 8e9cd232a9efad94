import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BillComponent } from './bill-of-materials.ts';
import { ImageBuilder, type ArchiveFormat } from './build.ts';
import { makeDebianBase, SMALL_BASE } from './debian-base.ts';

/** PostgreSQL as an image for the chart's own database, and the chart's values for it. */
export const POSTGRES = { repository: 'coxswain/postgres', major: '15', tag: '15-debian', runAsUser: 65532 } as const;
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

/** Builds the image of Debian's packages: `initdb`, `postgres` and `pg_isready` on its PATH. Resolves with its packages. */
export async function makePostgresImage(
  directory: string,
  { archive, format }: { readonly archive: string; readonly format: ArchiveFormat },
): Promise<readonly BillComponent[]> {
  const places = ['base', 'context', 'buildah'].map((name) => join(directory, `postgres-${name}`));
  const [base = '', context = '', store = ''] = places;
  const components = await makeDebianBase(POSTGRES_PACKAGES, base);
  const builder = new ImageBuilder(store);
  const image = await builder.addBase('postgres-base', join(base, 'root'));
  mkdirSync(context, { recursive: true });
  const path = `/usr/lib/postgresql/${POSTGRES.major}/bin:/usr/bin:/bin`;
  writeFileSync(join(context, 'Dockerfile'), `FROM ${image}\nENV PATH=${path}\n`);
  const name = `docker.io/${POSTGRES.repository}:${POSTGRES.tag}`;
  await builder.build({ context, image: name, arguments: {}, archive, format });
  for (const made of places) rmSync(made, { recursive: true, force: true });
  return components;
}
