/**
 * What do launchers cost that report steps? The real thread of the reports, TLS and WebSockets; an API server that answers TokenReviews at once stands in for the
 * real one, and the launchers run in a process of their own.
 *
 * Run: `node apps/operator/bench/ingest.bench.ts [LAUNCHERS] [SECONDS]`, default 2,048 and 30. Each pod has 8 ranks. Prints a line for one step a second and one for
 * twenty, each with launchers that keep to the pace that they are told, and one for twenty with launchers that know no pace.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { REPORT_PATH, type OperatorMessage } from '@coxswain/api-types';
import { systemClock } from '@coxswain/kube';
import WebSocket from 'ws';
import { createAuthority, issueServingCertificate } from '../src/ingest/authority.ts';
import { IngestThread } from '../src/ingest/ingest-thread.ts';
import type { IngestDigest } from '../src/ingest/ingest-messages.ts';
import { usageOf } from './process-usage.ts';
import { answerOf, JOB_UID, RANKS_PER_POD, startStandInServer } from './report-stand-ins.ts';

interface Load {
  readonly port: number;
  readonly ca: string;
  readonly launchers: number;
  readonly stepsPerSecond: number;
  readonly keepsPace: boolean;
}

if (process.send === undefined) await serve(Number(process.argv[2] ?? 2_048), Number(process.argv[3] ?? 30));
else {
  process.once('message', (load: Load) => void loadAll(load));
  // Without whom they report to they would go on for ever.
  process.once('disconnect', () => process.exit());
}

async function serve(launchers: number, seconds: number): Promise<void> {
  const ca = await createAuthority(new Date());
  const serving = await issueServingCertificate(ca, { hosts: ['127.0.0.1'], now: new Date() });
  const kubeconfigPath = await startStandInServer();
  let digests: IngestDigest[] = [];
  const thread = new IngestThread({
    clock: systemClock,
    start: () => ({
      ...{ listenHost: '127.0.0.1', listenPort: 0, ownUrl: 'https://127.0.0.1', serving, kubeconfigPath },
      ...{ silenceMs: 60_000, seriesReaders: [], healthWindowMs: 60_000, idleMs: 600_000 },
    }),
    view: () => ({ leadership: { leading: true, term: 1, leftMs: 60_000 }, jobs: [] }),
    answer: async (question) => answerOf(question),
    take: (digest) => void digests.push(digest),
    onDeath: (reason) => {
      throw reason;
    },
  });
  await thread.start();
  for (const [stepsPerSecond, keepsPace] of [
    [1, true],
    [20, true],
    [20, false],
  ] as const) {
    const child = fork(import.meta.filename, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    const load = { port: thread.port, ca: ca.certPem, launchers, stepsPerSecond, keepsPace };
    await welcome(child, load);
    // Everybody has been told the pace of so many, and bursts are over.
    await delay(5_000);
    digests = [];
    const lag = monitorEventLoopDelay({ resolution: 5 });
    lag.enable();
    const [before, loop, startedAtMs] = [process.cpuUsage(), process.threadCpuUsage(), performance.now()];
    await delay(seconds * 1_000);
    const tookMs = performance.now() - startedAtMs;
    const all = process.cpuUsage(before);
    const ofLoop = process.threadCpuUsage(loop);
    lag.disable();
    const loopMs = (ofLoop.user + ofLoop.system) / 1_000;
    const threadMs = (all.user + all.system) / 1_000 - loopMs;
    const count = (what: keyof IngestDigest['counts']): number =>
      digests.reduce((sum, { counts }) => sum + (counts[what] ?? 0), 0);
    console.log(
      `${launchers} launchers, ${stepsPerSecond} steps/s each, ${keepsPace ? 'told their pace' : 'that know no pace'}: thread ${percent(threadMs / tookMs)} of a core, ` +
        `loop ${percent(loopMs / tookMs)}, lag of the loop p99 ${(lag.percentile(99) / 1e6 - 5).toFixed(1)} ms, ${usageOf(process.pid).residentMiB.toFixed(0)} MiB; a second: ` +
        `${perSecond(count('message'), tookMs)} frames, ${perSecond(count('step'), tookMs)} steps taken, ${perSecond(count('step_missed'), tookMs)} told as missing, ` +
        `${perSecond(count('slowed'), tookMs)} frames made to wait`,
    );
    child.kill();
    await delay(2_000);
  }
  await thread.stop();
  process.exit(0);
}

function welcome(child: ChildProcess, load: Load): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', () => reject(new Error('the launchers are gone')));
    child.send(load);
  });
}

async function loadAll(load: Load): Promise<void> {
  for (let first = 0; first < load.launchers; first += 64) {
    const some = Array.from({ length: Math.min(64, load.launchers - first) }, (_, index) => first + index);
    await Promise.all(some.map((podIndex) => launch(podIndex, load)));
  }
  process.send?.('welcome');
}

/** Resolves when the launcher is welcome; it tells steps from then on. Turned away for the moment it comes again, as real ones do. */
async function launch(podIndex: number, load: Load): Promise<void> {
  while (!(await isWelcome(podIndex, load))) await delay(1_000 + Math.random() * 1_000);
}

function isWelcome(podIndex: number, { port, ca, stepsPerSecond, keepsPace }: Load): Promise<boolean> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}${REPORT_PATH}`, {
    ca,
    headers: { authorization: `Bearer pod-${podIndex}` },
    perMessageDeflate: false,
  });
  let sequence = 0;
  const send = (message: object): void => {
    sequence += 1;
    const envelope = { podUid: `uid-of-pod-${podIndex}`, epoch: 1, sequence, rendezvous: null };
    // A launcher keeps no more than this in its socket, and sheds what comes meanwhile.
    if (socket.bufferedAmount < 262_144) socket.send(JSON.stringify({ ...envelope, ...message }));
  };
  const pace = { stepsPerSecond: 20, gatherMs: 0 };
  let step = 0;
  const report = (): object => {
    step += 1;
    const timingsMs = { forward: 311.2, backward: 645.7, optimizer: 40.1 };
    const ranks = Array.from({ length: RANKS_PER_POD }, (_, local) => ({
      rank: podIndex * RANKS_PER_POD + local,
      stepTimeMs: 1_000.5,
      timingsMs,
    }));
    return { step, loss: podIndex === 0 ? 2.5 : null, tokens: 4_194_304, learningRate: 0.0003, gradNorm: null, ranks };
  };
  const tell = (): void => {
    const gatherMs = Math.max(pace.gatherMs, 1_000 / stepsPerSecond);
    const made = Math.max(1, Math.round((gatherMs / 1_000) * stepsPerSecond));
    const told = Math.max(1, Math.min(made, Math.round((gatherMs / 1_000) * pace.stepsPerSecond)));
    if (keepsPace) send({ kind: 'steps', reports: Array.from({ length: told }, report), skipped: made - told });
    else send({ kind: 'step', report: report() });
    setTimeout(tell, gatherMs);
  };
  return new Promise((resolve, reject) => {
    socket.on('open', () =>
      send({ kind: 'hello', jobUid: JOB_UID, bootId: `boot-${process.pid}`, podIndex, launcherVersion: '0.1.0' }),
    );
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as OperatorMessage;
      if (message.kind === 'refused') {
        if (message.code === 'notReady') resolve(false);
        else reject(new Error(message.message));
        socket.close();
      }
      if (message.kind === 'pace' && keepsPace) Object.assign(pace, message);
      if (message.kind !== 'welcome') return;
      setTimeout(tell, Math.random() * 2_000);
      resolve(true);
    });
    // As when the server took too long over the connection; of one that is welcome the figures tell.
    socket.on('error', () => resolve(false));
  });
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function perSecond(count: number, ms: number): string {
  return Math.round(count / (ms / 1_000)).toLocaleString('en');
}
