import { existsSync, readFileSync } from 'node:fs';

/** What a machine is, as far as the campaign has to know. */
export interface MachineFacts {
  readonly isRoot: boolean;
  /** `ID` and `VERSION_ID` of os-release, such as "debian 12". */
  readonly system: string;
  readonly hasCgroups: boolean;
  /** Programs that are missing. */
  readonly missing: readonly string[];
}

/** Names of libraries' packages differ from one to the next. */
const SYSTEM = 'debian 12';

/** Which Debian package has each program that the campaign starts. */
const PROGRAMS: Readonly<Record<string, string>> = {
  '/usr/bin/containerd': 'containerd',
  '/usr/sbin/runc': 'runc',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/usr/sbin/nft': 'nftables',
  '/usr/sbin/conntrack': 'conntrack',
  '/usr/bin/buildah': 'buildah',
  '/usr/bin/catatonit': 'catatonit',
  '/sbin/ip': 'iproute2',
  '/usr/bin/nsenter': 'util-linux',
};

/** Reads what the campaign needs of this machine. Changes nothing. */
export function machineFacts(): MachineFacts {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const word = (name: string): string => new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(release)?.[1] ?? 'unknown';
  return {
    isRoot: process.getuid?.() === 0,
    system: `${word('ID')} ${word('VERSION_ID')}`,
    hasCgroups: existsSync('/sys/fs/cgroup/cgroup.controllers') || existsSync('/sys/fs/cgroup/memory'),
    missing: Object.keys(PROGRAMS).filter((path) => !existsSync(path)),
  };
}

/** Packages that `--install` installs, or the reader of the message. */
export function missingPackages({ missing }: MachineFacts): readonly string[] {
  return missing.flatMap((path) => PROGRAMS[path] ?? []);
}

/** One sentence on why the campaign cannot run here, or undefined when it can. */
export function whyNotHere(facts: MachineFacts): string | undefined {
  if (!facts.isRoot) return 'it needs root: containers, network namespaces and cgroups are made';
  if (facts.system !== SYSTEM) {
    return `it is written for ${SYSTEM}, whose packages it takes by name; this is ${facts.system}`;
  }
  if (!facts.hasCgroups) return 'no cgroup controllers are mounted at /sys/fs/cgroup, so no kubelet can run here';
  const packages = missingPackages(facts);
  if (packages.length === 0) return undefined;
  return `${packages.join(', ')} are missing; run: apt-get install -y --no-install-recommends ${packages.join(' ')} (or give --install)`;
}
