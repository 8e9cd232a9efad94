/**
 * Time from the sudden death of the leading operator until its launchers are welcome at the next one, and what each part of it costs:
 *
 *   death ── the lease runs out ──► elected ── first look at the cluster ──► looked ── welcome ──► all of them
 *
 * Run: `node apps/operator/bench/welcome.bench.ts [LAUNCHERS] [LOOK_MS]`, default 2,048 and 4,000. Two replicas with the real lease, thread of reports and TLS, in
 * processes of their own; the leader is ended by SIGKILL. An API server that knows tokens and one Lease stands in for the real one. The first look is waited
 * for, not made: `first-look.bench.ts` measures how long it takes. Launchers come back as the real ones do: within 3 s, saying which leader they lost.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { REPORT_PATH, UNREACHABLE_LEADER_HEADER, ANNOTATIONS } from '@coxswain/api-types';
import { createKubeClient, LeaderLease, systemClock } from '@coxswain/kube';
import WebSocket from 'ws';
import { createAuthority, issueServingCertificate, type KeyPair } from '../src/ingest/authority.ts';
import { IngestThread } from '../src/ingest/ingest-thread.ts';
import { answerOf, JOB_UID, startStandInServer } from './report-stand-ins.ts';

const LIMIT_MS = 15_000;
const SPREAD_MS = 3_000;
const LEASE = { leaseDurationMs: 8_000, renewDeadlineMs: 6_000, retryPeriodMs: 1_500 };

interface Replica {
  readonly role: 'replica';
  readonly name: string;
  readonly kubeconfigPath: string;
  readonly serving: KeyPair;
  readonly lookMs: number;
}

interface Launchers {
  readonly role: 'launchers';
  readonly launchers: number;
  readonly ca: string;
  readonly leaderPort: number;
  readonly followerPort: number;
}

/** What a process says to the one that measures. */
type Said =
  | { readonly kind: 'listens'; readonly port: number }
  | { readonly kind: 'elected' | 'looked' }
  | { readonly kind: 'welcome'; readonly cameBack: boolean };

if (process.send === undefined) await measure(Number(process.argv[2] ?? 2_048), Number(process.argv[3] ?? 4_000));
else
  process.once(
    'message',
    (part: Replica | Launchers) => void (part.role === 'replica' ? replicate(part) : launchAll(part)),
  );

async function measure(launchers: number, lookMs: number): Promise<void> {
  const kubeconfigPath = await startStandInServer();
  const ca = await createAuthority(new Date());
  const serving = await issueServingCertificate(ca, { hosts: ['127.0.0.1'], now: new Date() });
  const replica = { role: 'replica', kubeconfigPath, serving, lookMs } as const;
  const leader = start({ ...replica, name: 'first' });
  const leaderPort = (await heard(leader, 'listens')).port;
  await heard(leader, 'looked');
  const follower = start({ ...replica, name: 'second' });
  const followerPort = (await heard(follower, 'listens')).port;
  const load = start({ role: 'launchers', launchers, ca: ca.certPem, leaderPort, followerPort });
  await heard(load, 'welcome');
  // A follower has seen the lease, and its holder renews it at some moment of its period.
  await delay(5_000 + Math.random() * LEASE.retryPeriodMs);
  const died = performance.now();
  leader.kill('SIGKILL');
  const since = async (what: Promise<unknown>): Promise<number> => (await what, performance.now() - died);
  const [elected, looked, welcome] = await Promise.all([
    since(heard(follower, 'elected')),
    since(heard(follower, 'looked')),
    since(heard(load, 'welcome')),
  ]);
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  console.log(
    `${launchers} launchers welcome ${seconds(welcome)} after their leader died: lease run out and follower elected ${seconds(elected)}, ` +
      `first look ${seconds(looked - elected)} (waited for), welcome of all ${seconds(welcome - looked)}`,
  );
  for (const child of [follower, load]) child.kill('SIGKILL');
  process.exit(welcome <= LIMIT_MS ? 0 : 1);
}

function start(part: Replica | Launchers): ChildProcess {
  const child = fork(import.meta.filename, { execArgv: ['--disable-warning=ExperimentalWarning'] });
  child.send(part);
  return child;
}

function heard<Kind extends Said['kind']>(child: ChildProcess, kind: Kind): Promise<Extract<Said, { kind: Kind }>> {
  return new Promise((resolve) => {
    const listen = (said: Said): void => {
      if (said.kind !== kind) return;
      child.off('message', listen);
      resolve(said as Extract<Said, { kind: Kind }>);
    };
    child.on('message', listen);
  });
}

function say(said: Said): void {
  process.send?.(said);
}

/** A replica of the operator, as far as launchers meet it. */
async function replicate({ name, kubeconfigPath, serving, lookMs }: Replica): Promise<void> {
  const client = createKubeClient({ kubeconfigPath, userAgent: name });
  let works = false;
  let ownUrl = '';
  const leadership = (
    lease: LeaderLease,
  ): ReturnType<ConstructorParameters<typeof IngestThread>[0]['view']>['leadership'] => {
    if (works && lease.isLeader()) return { leading: true, term: lease.assertLeading(), leftMs: lease.leftMs() };
    const leaderUrl = lease.currentLeader()?.annotations[ANNOTATIONS.reportUrl];
    return leaderUrl === undefined || leaderUrl === ownUrl ? { leading: false } : { leading: false, leaderUrl };
  };
  const candidate: { lease?: LeaderLease } = {};
  const thread = new IngestThread({
    clock: systemClock,
    start: () => ({
      ...{ listenHost: '127.0.0.1', listenPort: 0, ownUrl: '', serving, kubeconfigPath },
      ...{ silenceMs: 60_000, seriesReaders: [], healthWindowMs: 60_000, idleMs: 600_000 },
    }),
    view: () => ({
      leadership: candidate.lease === undefined ? { leading: false } : leadership(candidate.lease),
      jobs: [],
    }),
    answer: async (question) => answerOf(question),
    take: () => undefined,
    onDeath: (reason) => {
      throw reason;
    },
  });
  await thread.start();
  ownUrl = `https://127.0.0.1:${thread.port}`;
  const lease = new LeaderLease({
    ...LEASE,
    client,
    namespace: 'coxswain-system',
    name: 'coxswain-operator',
    identity: name,
    annotations: { [ANNOTATIONS.reportUrl]: ownUrl },
    clock: systemClock,
    random: Math.random,
  });
  candidate.lease = lease;
  say({ kind: 'listens', port: thread.port });
  await lease.run({
    signal: new AbortController().signal,
    onStartedLeading: async () => {
      say({ kind: 'elected' });
      await delay(lookMs);
      works = true;
      say({ kind: 'looked' });
    },
  });
}

async function launchAll({ launchers, ca, leaderPort, followerPort }: Launchers): Promise<void> {
  let isWelcome = 0;
  const leaderUrl = `https://127.0.0.1:${leaderPort}`;
  const connect = (podIndex: number, port: number, cameBack: boolean): void => {
    const lost = cameBack ? { [UNREACHABLE_LEADER_HEADER]: leaderUrl } : {};
    const socket = new WebSocket(`wss://127.0.0.1:${port}${REPORT_PATH}`, {
      ca,
      headers: { authorization: `Bearer pod-${podIndex}`, ...lost },
      perMessageDeflate: false,
    });
    let wasWelcome = false;
    socket.on('open', () => {
      const envelope = { podUid: `uid-of-pod-${podIndex}`, epoch: 1, sequence: 1, rendezvous: null };
      const hello = { kind: 'hello', jobUid: JOB_UID, bootId: 'boot', podIndex, launcherVersion: '0.1.0' };
      socket.send(JSON.stringify({ ...envelope, ...hello }));
    });
    socket.on('message', (data: Buffer) => {
      if ((JSON.parse(data.toString()) as { readonly kind: string }).kind !== 'welcome') return;
      wasWelcome = true;
      isWelcome += 1;
      if (isWelcome === launchers) say({ kind: 'welcome', cameBack });
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (wasWelcome) isWelcome -= 1;
      setTimeout(() => connect(podIndex, followerPort, true), (wasWelcome ? SPREAD_MS : 400) * Math.random());
    });
  };
  for (let first = 0; first < launchers; first += 64) {
    for (let podIndex = first; podIndex < Math.min(launchers, first + 64); podIndex += 1)
      connect(podIndex, leaderPort, false);
    await delay(200);
  }
}
