import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { pythonFolders, pythonPath } from './engine-python.ts';
import { claimOf, runtimeWithPython } from './job-objects.ts';
import { cniConfig, containerdConfig, kubeletConfig, type NodePlaces } from './node-config.ts';
import { parseOptions } from './options.ts';
import { missingPackages, whyNotHere, type MachineFacts } from './requirements.ts';
import { Steps } from './steps.ts';

const DEBIAN: MachineFacts = { isRoot: true, system: 'debian 12', hasCgroups: true, missing: [] };

describe('the campaign runs', () => {
  it('on a Debian with its programs, as root', () => {
    expect(whyNotHere(DEBIAN)).toBeUndefined();
  });

  it.each([
    ['as somebody else', { isRoot: false }, 'it needs root'],
    [
      'on another system',
      { system: 'fedora 44' },
      'it is written for debian 12, whose packages it takes by name; this is fedora 44',
    ],
    ['without cgroups', { hasCgroups: false }, 'no cgroup controllers are mounted'],
    [
      'without a program',
      { missing: ['/usr/bin/buildah', '/usr/sbin/runc'] },
      'buildah, runc are missing; run: apt-get install -y --no-install-recommends buildah runc (or give --install)',
    ],
  ])('not %s, and says why', (_sentence, facts, words) => {
    expect(whyNotHere({ ...DEBIAN, ...facts })).toContain(words);
  });

  it('with packages that apt knows by other names than their programs', () => {
    expect(missingPackages({ ...DEBIAN, missing: ['/usr/lib/cni/bridge'] })).toEqual(['containernetworking-plugins']);
  });

  it('for as long as it is told to stay, in seconds', () => {
    expect(parseOptions(['--hold', '60'])).toMatchObject({ holdSeconds: 60, install: false });
    expect(() => parseOptions(['--hold', 'long'])).toThrow('--hold is a number of seconds, not "long"');
  });

  it('with the images of a release or those of a folder', () => {
    expect(parseOptions(['--release', '/srv/release'])).toMatchObject({ release: '/srv/release', images: undefined });
    expect(() => parseOptions(['--release', '/srv/release', '--images', '/srv'])).toThrow('--release has images');
  });
});

describe('a node', () => {
  const places: NodePlaces = {
    index: 3,
    name: 'gpu-3',
    directory: '/d/gpu-3',
    containerdSocket: '/d/gpu-3/containerd.sock',
    cgroup: 'campaign/gpu-3',
    taint: 'nvidia.com/gpu:NoSchedule',
  };

  it('has addresses, a cgroup and a taint of its own', () => {
    expect(parse(kubeletConfig(places))).toMatchObject({
      address: '10.99.0.13',
      cgroupRoot: '/campaign/gpu-3',
      registerWithTaints: [{ key: 'nvidia.com/gpu', effect: 'NoSchedule' }],
    });
    expect(JSON.parse(cniConfig(places))).toMatchObject({
      plugins: [{ bridge: 'pods3', ipam: { ranges: [[{ subnet: '10.98.3.0/24' }]] } }],
    });
  });

  it('writes nothing outside of its folder', () => {
    const paths = [...`${containerdConfig(places)}${kubeletConfig(places)}`.matchAll(/= "(\/[^"]*)"|: (\/d\S*)/g)];
    const written = paths.map(([, quoted, plain]) => quoted ?? plain ?? '').filter((path) => path !== '/usr/lib/cni');
    expect(written.length).toBeGreaterThan(5);
    expect(written.filter((path) => !path.startsWith('/d/gpu-3'))).toEqual([]);
  });
});

describe('the engine’s Python comes from this machine', () => {
  it.each([
    ['a Python of its own', '/opt/python', [{ path: '/opt/python' }, { path: '/cache/env' }]],
    [
      'that of the system',
      '/usr',
      [
        { path: '/usr/lib/python3.11' },
        { path: '/usr/bin', file: 'python3.11' },
        { path: '/usr/bin', file: 'python3' },
        { path: '/cache/env' },
      ],
    ],
  ])('as folders of %s', (_sentence, basePrefix, folders) => {
    const places = { basePrefix, prefix: '/cache/env', name: 'python3.11' };
    expect(pythonFolders(places)).toEqual(folders);
    expect(pythonPath(places)).toMatch(/^\/cache\/env\/bin:/);
  });

  it('on read-only claims beside what the shipped runtime has', () => {
    const shipped: unknown = parse(
      readFileSync(join(import.meta.dirname, '../../../examples/runtimes/restricted.yaml'), 'utf8'),
    );
    const runtime: unknown = runtimeWithPython(shipped, [{ path: '/usr/bin', file: 'python3' }], '/env/bin:/bin');
    expect(runtime).toMatchObject({
      spec: {
        template: {
          spec: {
            securityContext: { runAsNonRoot: true },
            containers: [
              {
                env: expect.arrayContaining([{ name: 'PATH', value: '/env/bin:/bin' }]) as unknown,
                volumeMounts: [
                  { name: 'scratch' },
                  { name: 'python-0', readOnly: true, mountPath: '/usr/bin/python3', subPath: 'python3' },
                ],
              },
            ],
            volumes: [{ name: 'scratch' }, { persistentVolumeClaim: { claimName: 'python-0', readOnly: true } }],
          },
        },
      },
    });
  });

  it('by volumes that are bound to their claims', () => {
    expect(claimOf('corpus', '/data')).toMatchObject([
      { spec: { hostPath: { path: '/data' }, claimRef: { name: 'corpus' } } },
      { spec: { volumeName: 'research-corpus' } },
    ]);
  });
});

describe('a step', () => {
  it('is told with what was seen, and one that fails with why', async () => {
    const lines: string[] = [];
    const steps = new Steps((line) => void lines.push(line.replace(/\([\d.]+ s\)/, '(T)')));
    await steps.run('a rank is killed', () => Promise.resolve('back in 2 s'));
    await steps.run('a node dies', () => Promise.reject(new Error('it lives')));
    expect(lines).toEqual(['PASS  a rank is killed: back in 2 s (T)', 'FAIL  a node dies: it lives (T)']);
    expect([steps.passed, steps.failed]).toEqual([1, ['a node dies']]);
  });
});
