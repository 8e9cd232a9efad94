import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BINARY_VERSIONS, cachedBinary, findBinary } from './binaries.ts';

describe('a program of the local cluster', () => {
  const saved = { ...process.env };
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'binaries-'));
    process.env['PATH'] = `${directory}/path:${saved['PATH']}`;
    process.env['KUBEBUILDER_ASSETS'] = `${directory}/assets`;
    process.env['XDG_CACHE_HOME'] = `${directory}/cache`;
  });

  afterEach(() => {
    process.env = { ...saved };
    rmSync(directory, { recursive: true });
  });

  const place = (path: string, says: string): string => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\necho "${says}"\n`);
    chmodSync(path, 0o755);
    return path;
  };

  it('is taken from KUBEBUILDER_ASSETS first', async () => {
    const assets = place(join(directory, 'assets/etcd'), `etcd Version: ${BINARY_VERSIONS.etcd}`);
    place(join(directory, 'path/etcd'), `etcd Version: ${BINARY_VERSIONS.etcd}`);

    expect(await findBinary('etcd')).toBe(assets);
  });

  it('is passed over at another version', async () => {
    place(join(directory, 'assets/kube-apiserver'), 'Kubernetes v1.36.2');
    const onPath = place(join(directory, 'path/kube-apiserver'), 'Kubernetes v1.37.0');

    expect(await findBinary('kube-apiserver')).toBe(onPath);
  });

  it('is passed over when it does not run, and taken from the cache', async () => {
    writeFileSync(place(join(directory, 'assets/kwok'), ''), 'not a program');
    const cached = place(cachedBinary('kwok'), '');

    expect(await findBinary('kwok')).toBe(cached);
  });

  it('that is nowhere is an error that says what to do', async () => {
    await expect(findBinary('kube-scheduler')).rejects.toThrow(
      'kube-scheduler 1.37.0 is not here yet; run "npm run setup" once',
    );
  });
});
