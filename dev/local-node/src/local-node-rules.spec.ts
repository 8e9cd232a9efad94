import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { containerEnvironment } from './container/environment.ts';
import { expand } from './container/expansion.ts';
import { readFabricFile } from './settings/fabric-file.ts';
import { LocalImages } from './settings/images-file.ts';
import { lastBytes, LogReader } from './container/log-file.ts';
import { rewritePaths } from './container/mount-plan.ts';
import { podPhase, podStatus, type ContainerRecord, type ContainerState, type PodFacts } from './pod/pod-status.ts';
import { parseQuantity } from './container/quantity.ts';
import { tokenRefreshAt } from './pod/volumes.ts';
import type { Pod } from './kube/kube-types.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'local-node-rules-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a reference to a variable', () => {
  it.each([
    { name: 'is replaced', text: '$(A)/x', want: 'a/x' },
    { name: 'stays when nobody knows the name', text: '$(B)', want: '$(B)' },
    { name: 'is escaped by a second dollar', text: '$$(A)', want: '$(A)' },
    { name: 'is replaced behind an escaped dollar', text: '$$$(A)', want: '$a' },
    { name: 'is none without parentheses', text: '$A ${A}', want: '$A ${A}' },
    { name: 'is not looked for in what replaces it', text: '$(LOOP)', want: '$(A)' },
    { name: 'does not find what every object has', text: '$(toString)', want: '$(toString)' },
  ])('$name', ({ text, want }) => {
    expect(expand(text, { A: 'a', LOOP: '$(A)' })).toBe(want);
  });
});

describe('a path, where nothing can be mounted,', () => {
  const binds = [
    { source: '/host/data', target: '/data', readOnly: false },
    { source: '/host/deep', target: '/data/deep', readOnly: false },
  ];
  it.each([
    { name: 'is rewritten when it is a mountPath', text: '/data', want: '/host/data' },
    { name: 'is rewritten when it lies below one', text: '/data/a', want: '/host/data/a' },
    { name: 'goes to the innermost mount', text: '/data/deep/a', want: '/host/deep/a' },
    { name: 'is rewritten behind an option', text: '--out=/data/a', want: '--out=/host/data/a' },
    { name: 'stays when it only begins alike', text: '/database', want: '/database' },
    { name: 'stays in the middle of a text', text: 'see /data', want: 'see /data' },
  ])('$name', ({ text, want }) => {
    expect(rewritePaths(text, binds)).toBe(want);
  });
});

it.each([
  { text: '2', want: 2 },
  { text: '500m', want: 0.5 },
  { text: '2Gi', want: 2 * 1024 ** 3 },
  { text: '1e3', want: 1000 },
  { text: '3k', want: 3000 },
  { text: 'much', want: Number.NaN },
])('the quantity $text is $want', ({ text, want }) => {
  expect(parseQuantity(text)).toBe(want);
});

it('a token is replaced when four fifths of its life have passed', () => {
  const issuedAt = new Date('2026-01-01T00:00:00Z');
  expect(tokenRefreshAt(issuedAt, new Date('2026-01-01T01:00:00Z'))).toEqual(new Date('2026-01-01T00:48:00Z'));
});

const RUNNING: ContainerState = { kind: 'running', startedAt: '2026-01-01T00:00:00Z' };
const WAITING: ContainerState = { kind: 'waiting', reason: 'ContainerCreating' };
const exited = (exitCode: number): Extract<ContainerState, { kind: 'terminated' }> => ({
  kind: 'terminated',
  exitCode,
  reason: 'Error',
  startedAt: '2026-01-01T00:00:00Z',
  finishedAt: '2026-01-01T00:00:01Z',
});
const record = (state: ContainerState, more: Partial<ContainerRecord> = {}): ContainerRecord => ({
  container: { name: 'main', image: 'any' },
  state,
  restarts: 0,
  ...more,
});
function facts(parts: Partial<PodFacts>, restartPolicy: 'Never' | 'OnFailure' | 'Always' = 'Never'): PodFacts {
  const metadata = { name: 'pod', namespace: 'default', uid: 'u', resourceVersion: '1' };
  const pod: Pod = { metadata, spec: { restartPolicy, containers: [] } };
  const now = '2026-01-01T00:00:09Z';
  const still = { address: '127.0.0.2', startTime: now, hasSandbox: true, isOver: false, now, earlier: [] };
  return { pod, init: [], main: [], ...still, ...parts };
}

describe('the phase of a pod', () => {
  it.each([
    {
      name: 'is Pending while a container waits',
      seen: facts({ main: [record(WAITING), record(RUNNING)] }),
      want: 'Pending',
    },
    {
      name: 'is Pending while an init container runs',
      seen: facts({ init: [record(RUNNING)], main: [record(WAITING)] }),
      want: 'Pending',
    },
    {
      name: 'is Running while any container runs',
      seen: facts({ main: [record(RUNNING), record(exited(1))] }),
      want: 'Running',
    },
    {
      name: 'is Succeeded when all ended well',
      seen: facts({ main: [record(exited(0)), record(exited(0))] }),
      want: 'Succeeded',
    },
    {
      name: 'is Failed when one did not',
      seen: facts({ main: [record(exited(0)), record(exited(1))] }),
      want: 'Failed',
    },
    {
      name: 'is Failed when an init container failed',
      seen: facts({ init: [record(exited(1))], main: [record(WAITING)] }),
      want: 'Failed',
    },
    {
      name: 'is Running between two tries',
      seen: facts({ main: [record(WAITING, { last: exited(1) })] }, 'OnFailure'),
      want: 'Running',
    },
    {
      name: 'is Running when it will be tried again',
      seen: facts({ main: [record(exited(1))] }, 'OnFailure'),
      want: 'Running',
    },
    {
      name: 'is Failed once a deletion ended it',
      seen: facts({ main: [record(exited(143))], isOver: true }, 'Always'),
      want: 'Failed',
    },
  ])('$name', ({ seen, want }) => {
    expect(podPhase(seen)).toBe(want);
  });
});

it('a condition keeps its transition time until its status changes', () => {
  const before = podStatus(facts({ main: [record(WAITING)], now: 'then' }));
  const after = podStatus(facts({ main: [record(RUNNING)], now: 'later', earlier: before.conditions ?? [] }));
  const times = Object.fromEntries(
    (after.conditions ?? []).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]),
  );
  expect(times).toEqual({
    PodReadyToStartContainers: 'then',
    Initialized: 'then',
    Ready: 'later',
    ContainersReady: 'later',
  });
});

it('a resource reference is rounded up in units of its divisor, and falls back to what the node has', () => {
  const container = { name: 'main', image: 'any', resources: { limits: { memory: '1500Mi' } } };
  const variable = (name: string, resource: string, divisor: string): object => ({
    name,
    valueFrom: { resourceFieldRef: { resource, divisor } },
  });
  const env = [variable('MEMORY', 'limits.memory', '1Gi'), variable('CPU', 'limits.cpu', '1')];
  const environment = containerEnvironment({
    pod: facts({}).pod,
    container: { ...container, env: env as never },
    place: { nodeName: 'n', address: '127.0.0.2', capacity: { cpu: '16' } },
    references: { configMaps: new Map(), secrets: new Map() },
    base: {},
  });
  expect(environment).toEqual({ kind: 'complete', env: { MEMORY: '2', CPU: '16' } });
});

describe('a fabric file', () => {
  const node = { name: 'a', address: '127.0.0.2' };
  it.each([
    { name: 'an address that is not this machine', nodes: [{ ...node, address: '10.0.0.1' }], says: '127.0.0.0/8' },
    { name: 'two nodes of one address', nodes: [node, { ...node, name: 'b' }], says: 'same address' },
    { name: 'two nodes of one name', nodes: [node, { ...node, address: '127.0.0.3' }], says: 'same name' },
    { name: 'a field that it does not know', nodes: [{ ...node, gpus: 2 }], says: 'gpus' },
  ])('is refused for $name', ({ nodes, says }) => {
    const path = join(folder, 'fabric.yaml');
    writeFileSync(path, JSON.stringify({ nodes }));
    expect(() => readFabricFile(path)).toThrow(says);
  });

  it('of the quickstart describes four nodes, two domains, a leaf and a spine above each, and two islands', () => {
    const { nodes } = readFabricFile(join(import.meta.dirname, '../../../examples/fabrics/quickstart.yaml'));
    const values = (label: string): (string | undefined)[] => [...new Set(nodes.map(({ labels }) => labels[label]))];
    expect(nodes.map(({ capacity }) => capacity['nvidia.com/gpu'])).toEqual(['2', '2', '2', '2']);
    expect(values('accelerator.topograph.run/domain')).toEqual(['nvl-a', 'nvl-b']);
    expect(values('fabric.topograph.run/tier-0')).toEqual(['leaf-a', 'leaf-b']);
    expect(values('fabric.topograph.run/tier-1')).toEqual(['spine-a', 'spine-b']);
    expect(values('fabric.coxswain.dev/nic-type')).toEqual(['infiniband', 'roce']);
    expect(values('fabric.coxswain.dev/nic-island')).toEqual(['ib-0', 'roce-0']);
  });
});

it('an image is found with or without its tag latest, its paths beside the file', () => {
  const path = join(folder, 'images.yaml');
  mkdirSync(join(folder, 'root'), { recursive: true });
  writeFileSync(path, 'images: { "host:5000/engine": { root: root } }');
  const images = new LocalImages(path);
  expect(images.find('host:5000/engine:latest')).toMatchObject({ image: { root: join(folder, 'root') } });
  expect(images.find('host:5000/engine:1')).toMatchObject({
    problem: expect.stringContaining('has no entry') as string,
  });
});

it('a log is read line by line as it grows, and never half a line', () => {
  const path = join(folder, 'log');
  const reader = new LogReader(path);
  expect(reader.read()).toEqual([]);
  writeFileSync(path, '2026-01-01T00:00:00.1Z stdout F one\n2026-01-01T00:00:00.2Z std');
  expect(reader.read().map(({ text }) => text)).toEqual(['one']);
  writeFileSync(path, 'err P two\n', { flag: 'a' });
  expect(reader.read()).toEqual([{ time: '2026-01-01T00:00:00.2Z', stream: 'stderr', isWhole: false, text: 'two' }]);
});

it('the end of a text never begins within a character', () => {
  expect(lastBytes('aüb', 2)).toBe('b');
  expect(lastBytes('aüb', 3)).toBe('üb');
});
