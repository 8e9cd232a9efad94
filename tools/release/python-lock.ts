/** A package of a lock file of pip. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** `sha256:` and hexadecimal digits, of each file that the index has of this version. */
  readonly hashes: readonly string[];
}

/** The packages that a lock with hashes names, whatever the Python that each is for. Throws an error for a line without a version or a hash. */
export function lockedPackages(text: string): readonly LockedPackage[] {
  const lines = text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => /^[^\s#]/.test(line));
  return lines.map((line) => {
    const [, name, version] = /^([A-Za-z0-9._-]+)==([^\s;]+)/.exec(line) ?? [];
    const hashes = [...line.matchAll(/--hash=(sha256:[0-9a-f]{64})/g)].flatMap(([, hash]) => hash ?? []);
    if (name === undefined || version === undefined || hashes.length === 0) {
      throw new Error(`the lock has "${line.slice(0, 60)}", and not NAME==VERSION with hashes; write it again`);
    }
    return { name, version, hashes };
  });
}

/** A requirements file of those packages for any Python: pip compares hashes, and does not judge for which Python a package is. */
export function requirementsOf(packages: readonly LockedPackage[]): string {
  return packages
    .map(({ name, version, hashes }) => `${name}==${version} ${hashes.map((hash) => `--hash=${hash}`).join(' ')}\n`)
    .join('');
}
