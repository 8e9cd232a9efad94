import { BINARY_VERSIONS, type BinaryName } from '@coxswain/local-cluster';

/** Where a project publishes one program, and what says which bytes are right. */
export interface Release {
  readonly url: string;
  /** Path inside the archive; undefined where the download is the program itself. */
  readonly member?: string;
  readonly checksum: ChecksumSource;
}

/** A text with `<sha256>  <file name>` lines (or the bare sum), or GitHub's record of a release's files. */
export interface ChecksumSource {
  readonly kind: 'text' | 'githubRelease';
  readonly url: string;
}

/** The official download of `name` for `arch` (Go's word: amd64, arm64); undefined if it is always built. */
export function officialRelease(name: BinaryName, arch: string): Release | undefined {
  const version = BINARY_VERSIONS[name];
  switch (name) {
    case 'etcd': {
      const folder = `etcd-v${version}-linux-${arch}`;
      const base = `https://github.com/etcd-io/etcd/releases/download/v${version}`;
      return {
        url: `${base}/${folder}.tar.gz`,
        member: `${folder}/etcd`,
        checksum: { kind: 'text', url: `${base}/SHA256SUMS` },
      };
    }
    case 'helm': {
      const url = `https://get.helm.sh/helm-v${version}-linux-${arch}.tar.gz`;
      return { url, member: `linux-${arch}/helm`, checksum: { kind: 'text', url: `${url}.sha256sum` } };
    }
    case 'coredns': {
      const url = `https://github.com/coredns/coredns/releases/download/v${version}/coredns_${version}_linux_${arch}.tgz`;
      return { url, member: 'coredns', checksum: { kind: 'text', url: `${url}.sha256` } };
    }
    case 'kwok':
      return {
        url: `https://github.com/kubernetes-sigs/kwok/releases/download/v${version}/kwok-linux-${arch}`,
        checksum: {
          kind: 'githubRelease',
          url: `https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/v${version}`,
        },
      };
    case 'gofakes3':
    case 'jobset':
    case 'kueue':
    case 'promtool':
    case 'training-operator':
    case 'versitygw':
      // JobSet, Kueue and the training operator publish images alone; versitygw publishes some; promtool is in the archive of Prometheus. Only campaigns run them.
      return undefined;
    case 'kube-apiserver':
    case 'kube-scheduler':
    case 'kube-controller-manager':
    case 'kubectl':
    case 'kubelet':
    case 'kube-proxy': {
      const url = `https://dl.k8s.io/release/v${version}/bin/linux/${arch}/${name}`;
      return { url, checksum: { kind: 'text', url: `${url}.sha256` } };
    }
  }
}

/**
 * The SHA-256 of the file that `release` downloads, read from the text of its checksum source; undefined when that
 * text does not name it.
 */
export function expectedSum(release: Release, text: string): string | undefined {
  const fileName = release.url.slice(release.url.lastIndexOf('/') + 1);
  if (release.checksum.kind === 'githubRelease') {
    const { assets = [] } = JSON.parse(text) as { assets?: { name: string; digest?: string | null }[] };
    return assets.find(({ name }) => name === fileName)?.digest?.replace(/^sha256:/, '');
  }
  const lines = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const line =
    lines.find(([, name]) => name?.replace(/^\*/, '') === fileName) ?? lines.find(({ length }) => length === 1);
  return /^[0-9a-f]{64}$/.exec(line?.[0] ?? '')?.[0];
}
