/**
 * Time until 2,048 launchers that come at the same moment are welcome, over TLS, with an API server that answers each TokenReview after 5 ms and a
 * control lane full of calls that hang. Run: `node apps/operator/bench/welcome.bench.ts`. Launchers run in a process of their own.
 */
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LABELS, REPORT_PATH, REPORT_TOKEN_AUDIENCE } from '@coxswain/api-types';
import { createKubeClient, systemClock, type KubeObject } from '@coxswain/kube';
import { aPlacement } from '@coxswain/lifecycle/testing';
import WebSocket from 'ws';
import { toCachedPod } from '../src/cluster/cached-pod.ts';
import { createAuthority, issueServingCertificate } from '../src/reports/authority.ts';
import { TokenReviewAuthenticator } from '../src/reports/authenticator.ts';
import { KubernetesReportPorts } from '../src/reports/kubernetes-report-ports.ts';
import { MessageDeduplicator } from '../src/reports/message-deduplicator.ts';
import { ProgressTracker } from '../src/reports/progress-tracker.ts';
import { Rendezvous } from '../src/reports/rendezvous.ts';
import { startReportServer } from '../src/reports/report-server.ts';
import type { ReportPorts } from '../src/reports/report-session.ts';
import { SeriesRing } from '../src/reports/series-ring.ts';
import { CacheScript } from '../src/testing/a-cluster-cache.ts';
import { ownedBy } from '../src/training-job/owner.ts';

const LAUNCHERS = 2_048;
const REVIEW_MS = 5;
/** Of the replica that welcomes them, for each. A quiet machine with a core for it is through in 2,048 times this. */
const LIMIT_CPU_MS = 4;

interface Storm {
  readonly port: number;
  readonly ca: string;
  readonly jobUid: string;
}

if (process.send === undefined) await serve();
else process.once('message', (storm: Storm) => void connectAll(storm));

async function serve(): Promise<void> {
  const api = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url?.startsWith('/hangs') === true) return;
      const { spec } = JSON.parse(Buffer.concat(chunks).toString()) as { spec: { token: string } };
      const user = {
        username: 'system:serviceaccount:research:default',
        extra: {
          'authentication.kubernetes.io/pod-name': [spec.token],
          'authentication.kubernetes.io/pod-uid': [`uid-of-${spec.token}`],
        },
      };
      const status = { authenticated: true, user, audiences: [REPORT_TOKEN_AUDIENCE] };
      setTimeout(() => response.end(JSON.stringify({ status })), REVIEW_MS);
    });
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const client = clientOf((api.address() as AddressInfo).port);
  for (let call = 0; call < 1_000; call += 1)
    client.get(`/hangs/${call}`, { timeoutMs: 60_000 }).catch(() => undefined);

  const { cache, jobUid } = aGang();
  const ca = await createAuthority(new Date());
  const serving = await issueServingCertificate(ca, { hosts: ['127.0.0.1'], now: new Date() });
  const clock = systemClock;
  const authenticator = new TokenReviewAuthenticator({ client, clock });
  const series = new SeriesRing({ bootId: 'bench' });
  const cluster = new KubernetesReportPorts({
    client,
    cache,
    store: { createCheckpoint: () => Promise.resolve() },
    term: () => 1,
    currentLeader: () => undefined,
  });
  const ports: ReportPorts = {
    leadership: () => cluster.leadership(),
    findPod: (pod) => cluster.findPod(pod),
    recordCheckpoint: (pod, saved) => cluster.recordCheckpoint(pod, saved),
    currentEpoch: (uid) => cluster.newestEpoch(uid).epoch,
    isFenced: () => false,
    currentIncarnation: () => 1,
    onNews: () => undefined,
  };
  const server = await startReportServer({
    listenHost: '127.0.0.1',
    listenPort: 0,
    ownUrl: 'https://127.0.0.1',
    serving,
    clock,
    silenceMs: 60_000,
    series: { ring: series, authenticator, readers: [], leadership: () => ports.leadership(), clock },
    sessions: {
      ports,
      authenticator,
      series,
      progress: new ProgressTracker(),
      rendezvous: new Rendezvous(),
      deduplicator: new MessageDeduplicator(),
      now: () => new Date(),
      sleep: () => Promise.resolve(),
      heard: () => undefined,
      said: () => undefined,
      count: () => undefined,
    },
  });
  const child = fork(import.meta.filename, { execArgv: ['--disable-warning=ExperimentalWarning'] });
  const cpu = process.cpuUsage();
  child.send({ port: server.port, ca: ca.certPem, jobUid } satisfies Storm);
  child.on('message', ({ welcome, tookMs }: { welcome: number; tookMs: number }) => {
    const { user, system } = process.cpuUsage(cpu);
    const cpuMs = (user + system) / 1000;
    console.log(
      `${welcome} of ${LAUNCHERS} launchers welcome after ${Math.round(tookMs)} ms; ${(cpuMs / LAUNCHERS).toFixed(2)} ms of processor time each`,
    );
    process.exit(welcome === LAUNCHERS && cpuMs / LAUNCHERS <= LIMIT_CPU_MS ? 0 : 1);
  });
}

function clientOf(port: number): ReturnType<typeof createKubeClient> {
  const kubeconfigPath = join(mkdtempSync(join(tmpdir(), 'welcome-')), 'config');
  const config = {
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(kubeconfigPath, JSON.stringify(config));
  return createKubeClient({ kubeconfigPath, userAgent: 'bench', maxInFlight: 16, lanes: { bulk: 32 } });
}

function aGang(): { readonly cache: CacheScript['cache']; readonly jobUid: string } {
  const script = new CacheScript();
  const job = script.job('large');
  const placement = aPlacement(job, { nodes: Array.from({ length: LAUNCHERS }, (_, index) => `node-${index}`) });
  const attempt = {
    epoch: 1,
    stage: 'Released' as const,
    placement: placement.metadata.name,
    startedAt: '2026-01-01T00:00:00Z',
  };
  const status = { epoch: 1, restarts: { total: 0, charged: 0 }, attempts: [attempt] };
  script.job('large', { status: status as never });
  script.cache.placements.cached.upsert({ ...placement, metadata: { ...placement.metadata, resourceVersion: '1' } });
  for (let index = 0; index < LAUNCHERS; index += 1) {
    const labels = { [LABELS.jobUid]: job.metadata.uid, [LABELS.epoch]: '1', [LABELS.podIndex]: String(index) };
    const name = `pod-${index}`;
    const metadata = { name, namespace: 'research', uid: `uid-of-${name}`, resourceVersion: '1', labels };
    script.cache.pods.cached.upsert(
      toCachedPod({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...metadata, ownerReferences: [ownedBy(job)] },
      } as KubeObject),
    );
  }
  return { cache: script.cache, jobUid: job.metadata.uid };
}

async function connectAll({ port, ca, jobUid }: Storm): Promise<void> {
  const startedAtMs = performance.now();
  let welcome = 0;
  const launcher = (podIndex: number): Promise<void> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`wss://127.0.0.1:${port}${REPORT_PATH}`, {
        ca,
        headers: { authorization: `Bearer pod-${podIndex}` },
      });
      socket.on('open', () => {
        const envelope = { podUid: `uid-of-pod-${podIndex}`, epoch: 1, sequence: 1, rendezvous: null };
        const hello = { kind: 'hello', jobUid, bootId: 'boot', podIndex, launcherVersion: '0.1.0' };
        socket.send(JSON.stringify({ ...envelope, ...hello }));
      });
      socket.on('message', (data: Buffer) => {
        const { kind, ...rest } = JSON.parse(data.toString()) as { readonly kind: string };
        if (kind === 'welcome') welcome += 1;
        if (kind === 'refused') console.log(rest);
        if (kind === 'welcome' || kind === 'refused') resolve();
      });
      socket.on('error', (error) => {
        console.log(String(error));
        resolve();
      });
    });
  await Promise.all(Array.from({ length: LAUNCHERS }, (_, index) => launcher(index)));
  process.send?.({ welcome, tookMs: performance.now() - startedAtMs });
}
