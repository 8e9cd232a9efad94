import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { debianComponents, type BillComponent } from './bill-of-materials.ts';

const run = promisify(execFile);

/** What Node and the launcher load; no shell, no package manager. */
export const SMALL_BASE = ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6'] as const;
/** Beside that, what Python and PyTorch load, and the shell that a launcher starts. */
export const ENGINE_BASE = [
  ...SMALL_BASE,
  ...['dash', 'coreutils', 'zlib1g', 'libssl3', 'libffi8', 'libbz2-1.0', 'liblzma5', 'libsqlite3-0', 'libexpat1'],
  ...['libreadline8', 'libtinfo6', 'libncursesw6', 'libuuid1', 'libselinux1', 'libpcre2-8-0', 'libgomp1', 'libcrypt1'],
  ...['libacl1', 'libattr1', 'libgmp10', 'libtirpc3', 'libnsl2', 'libatomic1', 'numactl', 'libnuma1', 'gcc-12-base'],
] as const;

/** Names of a numeric user are looked up by few programs; both bases know our own. */
const PASSWD = 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n';
const GROUP = 'root:x:0:\nnonroot:x:65532:\n';
/** Debian's root has these as links into /usr; packages still name both. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64'] as const;

/**
 * A root folder of a few of this machine's Debian packages, unpacked and not installed: no script of theirs runs. Apt checks their signatures.
 * Gives what it holds, for the bill of materials.
 */
export async function makeDebianBase(
  packages: readonly string[],
  directory: string,
): Promise<readonly BillComponent[]> {
  rmSync(directory, { recursive: true, force: true });
  const root = join(directory, 'root');
  const archives = join(directory, 'archives');
  // Where scanners look for the packages of images that have no dpkg.
  const known = join(root, 'var/lib/dpkg/status.d');
  for (const folder of [archives, known, join(root, 'etc'), join(root, 'usr')]) mkdirSync(folder, { recursive: true });
  for (const name of MERGED) {
    mkdirSync(join(root, 'usr', name));
    symlinkSync(`usr/${name}`, join(root, name));
  }
  // Apt would drop root for a user that may not write here.
  await run('apt-get', ['download', '-o', 'APT::Sandbox::User=root', '-q', ...packages], { cwd: archives });
  const components: BillComponent[] = [];
  for (const archive of readdirSync(archives).sort()) {
    const path = join(archives, archive);
    await run('sh', ['-c', 'dpkg-deb --fsys-tarfile "$0" | tar -x --keep-directory-symlink -C "$1"', path, root]);
    const { stdout: status } = await run('dpkg-deb', ['--field', path]);
    components.push(...debianComponents(status));
    writeFileSync(join(known, archive.split('_')[0] ?? archive), status);
  }
  // No user has a home here, and paths of volumes may lead through it.
  chmodSync(join(root, 'root'), 0o755);
  for (const name of ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/info']) {
    rmSync(join(root, name), { recursive: true, force: true });
  }
  writeFileSync(join(root, 'etc/passwd'), PASSWD);
  writeFileSync(join(root, 'etc/group'), GROUP);
  rmSync(archives, { recursive: true });
  return components;
}

/** One sentence on why Debian packages cannot be had here, or undefined. */
export function whyNoDebian(): string | undefined {
  return ['/usr/bin/apt-get', '/usr/bin/dpkg-deb'].every((path) => existsSync(path))
    ? undefined
    : 'this is no Debian: the base is made of its packages; name another one with --base';
}
