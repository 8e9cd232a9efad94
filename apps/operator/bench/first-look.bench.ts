/**
 * What a new leader's list of 10,240 pods of 22 kB costs: streamed object by object, and by pages. The API server is a stand-in, so this is
 * the reader's side alone. Run: `node apps/operator/bench/first-look.bench.ts`. The reader runs in a process of its own.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { CONTAINERS, GPU_RESOURCE, LABELS } from '@coxswain/api-types';
import { createKubeClient, ObjectCache, Reflector, systemClock } from '@coxswain/kube';
import { toCachedPod, type CachedPod } from '../src/cluster/cached-pod.ts';

const PODS = 10_240;
const LIMITS = { cpuMs: 10_000, rssMib: 400 } as const;

if (process.send === undefined) await serve();
else process.once('message', (message: Look) => void look(message));

interface Look {
  readonly port: number;
  readonly listing: 'pages' | 'stream';
}

async function serve(): Promise<void> {
  const pods = Array.from({ length: PODS }, (_, index) => JSON.stringify(aPod(index)));
  console.log(`${PODS} pods of ${pods[0]?.length} bytes`);
  const api = createServer((request, response) => void answer(pods, request, response));
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const { port } = api.address() as AddressInfo;
  for (const listing of ['stream', 'pages', 'stream', 'pages'] as const) {
    const reader = fork(import.meta.filename, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    reader.send({ port, listing } satisfies Look);
    const [code] = (await once(reader, 'exit')) as [number | null];
    if (code !== 0) process.exitCode = 1;
  }
  api.closeAllConnections();
  api.close();
}

async function answer(pods: readonly string[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  const query = new URL(request.url ?? '/', 'http://api').searchParams;
  const metadata = { resourceVersion: '99999' };
  if (query.has('sendInitialEvents')) {
    for (const pod of pods) {
      if (!response.write(`{"type":"ADDED","object":${pod}}\n`)) await once(response, 'drain');
    }
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const object = { kind: 'Pod', apiVersion: 'v1', metadata: { ...metadata, annotations } };
    response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  } else if (!query.has('watch')) {
    const from = Number(query.get('continue') ?? 0);
    const to = Math.min(pods.length, from + Number(query.get('limit')));
    const page = to < pods.length ? { ...metadata, continue: String(to) } : metadata;
    const head = JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: page });
    response.end(`${head.slice(0, -1)},"items":[${pods.slice(from, to).join(',')}]}`);
  }
}

async function look({ port, listing }: Look): Promise<void> {
  const kubeconfigPath = join(mkdtempSync(join(tmpdir(), 'first-look-')), 'config');
  const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(kubeconfigPath, JSON.stringify(config));
  const reflector = new Reflector<CachedPod>({
    client: createKubeClient({ kubeconfigPath, userAgent: 'bench' }),
    collectionPath: '/api/v1/pods',
    cache: new ObjectCache<CachedPod>(),
    trim: (pod) => toCachedPod(pod),
    clock: systemClock,
    random: Math.random,
    listing,
  });
  const stop = new AbortController();
  const lag = monitorEventLoopDelay({ resolution: 5 });
  lag.enable();
  const before = process.cpuUsage();
  const startedAtMs = performance.now();
  const isListed = reflector.refresh(stop.signal);
  void reflector.run(stop.signal);
  await isListed;
  const wallMs = Math.round(performance.now() - startedAtMs);
  const used = process.cpuUsage(before);
  const cpuMs = Math.round((used.user + used.system) / 1000);
  const rssMib = Math.round(process.resourceUsage().maxRSS / 1024);
  const pauseMs = Math.round(lag.max / 1e6);
  console.log(
    `${listing}: ${wallMs} ms, of processor time ${cpuMs} ms, memory at most ${rssMib} MiB, longest pause ${pauseMs} ms`,
  );
  process.exit(cpuMs <= LIMITS.cpuMs && rssMib <= LIMITS.rssMib ? 0 : 1);
}

/** A pod as it comes from the API server, with what its writers leave behind. */
function aPod(index: number): object {
  const time = '2026-01-01T00:00:00Z';
  const job = Math.floor(index / 1024);
  const variables = Array.from({ length: 60 }, (_, number) => `VARIABLE_${number}`);
  const volumes = Array.from({ length: 8 }, (_, number) => `volume-${number}`);
  const resources = { [GPU_RESOURCE]: '8', cpu: '96', memory: '1000Gi' };
  const owned = Object.fromEntries(
    variables.map((name) => [`k:{"name":"${name}"}`, { '.': {}, 'f:name': {}, 'f:value': {} }]),
  );
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: `job-${job}-e1-${index}`,
      namespace: 'research',
      uid: `00000000-0000-0000-0000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(1_000 + index),
      creationTimestamp: time,
      labels: { [LABELS.jobUid]: `job-${job}`, [LABELS.epoch]: '1', [LABELS.podIndex]: String(index % 1024) },
      ownerReferences: [{ apiVersion: 'x/v1', kind: 'TrainingJob', name: 'job', uid: `job-${job}`, controller: true }],
      managedFields: ['operator', 'scheduler', 'kubelet'].map((manager) => ({
        manager,
        operation: 'Update',
        apiVersion: 'v1',
        time,
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': { 'f:containers': { 'k:{"name":"trainer"}': { '.': {}, 'f:env': owned } } } },
      })),
    },
    spec: {
      nodeName: `node-${index}`,
      containers: [
        {
          name: CONTAINERS.trainer,
          image: 'example/image:1',
          env: variables.map((name) => ({
            name,
            value: `what ${name} says in pod ${index}, with as much text as such values have`,
          })),
          resources: { limits: resources, requests: resources },
          volumeMounts: volumes.map((name) => ({ name, mountPath: `/mnt/${name}` })),
        },
      ],
      volumes: volumes.map((name) => ({ name, emptyDir: {} })),
    },
    status: {
      phase: 'Running',
      conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(
        (type) => ({
          type,
          status: 'True',
          lastTransitionTime: time,
        }),
      ),
      containerStatuses: [{ name: CONTAINERS.trainer, state: { running: { startedAt: time } }, ready: true }],
    },
  };
}
