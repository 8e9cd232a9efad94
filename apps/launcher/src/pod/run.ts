/** Runs the ranks of one pod from its first report to its last. More than 400 lines: the order of these steps is what matters, and it is read in one place. */
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { POD_ENV, POD_PATHS, RANK_ENV, type RankAssignment, type TerminationCause } from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';
import type { BucketSaves } from '../bucket/bucket-saves.ts';
import { openBucket, withoutBucketKeys } from '../bucket/open-bucket.ts';
import { finishWatching, watchEngineSaves, type EngineSaves } from '../engine-saves/watch-engine-saves.ts';
import { removeUnfinishedSaves } from '../engine-saves/remove-unfinished-saves.ts';
import { engineSavingOf, starterOf, stepWordsOf } from '../engine/engine-run.ts';
import { Gang } from '../gang/gang.ts';
import { KeptLogs } from '../kept-logs/kept-logs.ts';
import { LogSink } from '../logs/log-relay.ts';
import { MemorySavesOfPod } from '../memory-saves/memory-saves.ts';
import { SecretIndex, secretValues } from '../logs/secret-mask.ts';
import { SilentRanks } from '../hook/silent-ranks.ts';
import { runPreflight } from '../preflight/run-preflight.ts';
import { cpuMsOfEndedChildren } from '../processes/process-facts.ts';
import { rankProcesses } from '../processes/rank-processes.ts';
import { freePort, parseAddress, type RendezvousAddress } from '../engine/rendezvous.ts';
import { Reporter } from '../reports/reporter.ts';
import type { Settings } from '../program/settings.ts';
import { SaveRequests } from '../requests/save-requests.ts';
import { StackRequests } from '../requests/stack-requests.ts';
import { Successors, type SuccessorsOptions } from '../successors/successors.ts';
import { StopSignals } from './stop-signals.ts';
import { toCause, workOf } from './to-cause.ts';
import { clearTerminationMessage, writeTerminationMessage } from '../ending/termination.ts';
import { canRestartInPlace, plainVerdict, type Verdict } from '../ending/verdict.ts';
import { newerVerdict, ranksOf, resumeDirectory, resumeProblem, withOwnFinding } from './resume-checks.ts';

const WAITING_SENTENCE_MS = 10_000;
const LAST_WORD_MS = 2_000;
const DRAIN_MS = 2_000;
const CONTACT_POLL_MS = 1_000;
/** How long ranks wait for the removal of unfinished saves. */
const TIDY_MS = 10_000;
/** Kept back from the pod's grace period for the launcher's own last words. */
const OWN_SHARE_OF_GRACE_MS = 3_000;

/** The launcher's settings, and the command and environment of its ranks. */
export interface RunOptions {
  readonly settings: Settings;
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs one pod of a gang: receives an assignment of ranks, verifies the checkpoint, waits for the rendezvous, starts the ranks, watches them and
 * reports how they ended. Where other ranks can start in their place it waits for the next assignment. Returns the exit code.
 */
export async function run({ settings, command, environment: allVariables }: RunOptions): Promise<number> {
  const stdout = new LogSink(process.stdout);
  const stderr = new LogSink(process.stderr);
  const logLine = (sentence: string): void => {
    stderr.logLine(sentence);
    kept.writeSentence(sentence);
  };
  const kept: KeptLogs = new KeptLogs({ settings, environment: allVariables, logLine });
  const { values, unmasked } = secretValues({
    environment: allVariables,
    variables: [...settings.secretVariables, POD_ENV.bucketKey],
    directory: POD_PATHS.secrets,
  });
  if (unmasked > 0)
    logLine(
      `${unmasked} lines of the job's Secrets are not masked in logs: at most ${values.length} are. Remove lines that are no credentials from these Secrets.`,
    );
  const secrets = new SecretIndex(values);
  // Distinguishes this process from an earlier one in the same pod.
  const bootId = randomUUID();
  /** Resolves with a verdict that does not come from the ranks. */
  const early = Promise.withResolvers<Verdict>();
  const bucket = await openBucket(settings, logLine);
  const environment = withoutBucketKeys(allVariables);
  const ranks: Ranks = { gang: undefined, silent: undefined };
  const stacks = new StackRequests({
    alive: () => ranks.gang?.alive ?? [],
    ask: (rank, request) => ranks.gang?.facts?.askForStacks(rank, request),
  });
  const saves = new SaveRequests({
    firstRank: () => ranks.gang?.alive.find(({ alive }) => alive)?.rank,
    ask: (rank, request) => ranks.gang?.facts?.askToSave(rank, request) ?? 'silent',
    logLine,
  });
  const reporter: Reporter = new Reporter({
    settings,
    bucket,
    bootId,
    logLine,
    stepWords: stepWordsOf(environment),
    engineSaving: engineSavingOf(environment),
    alive: () => ranks.gang?.alive ?? [],
    processes: () => rankProcesses(ranks.gang?.processes ?? [], performance.now()),
    onStaleEpoch: (message) => early.resolve(plainVerdict('fenced', `the operator refused this attempt: ${message}`)),
    stacks: (wanted) => stacks.answer(wanted),
    onEndRanks: (message) => ranks.gang?.kill(endedByOrder(message)),
    onSaveWanted: (wanted) => saves.receive(wanted),
  });
  const signals = new StopSignals();
  const successors = successorsOf(settings, { command, environment, secrets, logLine });
  // The ranks need processors and memory to save.
  void signals.first.then(() => successors?.stop());
  const memorySaves = settings.memorySaves && new MemorySavesOfPod(settings, settings.memorySaves);
  const newGang = (assignment: RankAssignment): Gang => {
    kept.begin(assignment);
    memorySaves?.keepOnly(assignment.memorySave);
    return new Gang({
      settings,
      own: { ...assignment, ranks: ranksOf(assignment) },
      bootId,
      command,
      environment: {
        ...environment,
        ...placesOf(assignment, settings),
        ...memorySaves?.variables(assignment.memorySave),
      },
      stdout,
      stderr,
      output: { secrets, onOutput: (from, stream, chunk) => kept.write(from, stream, chunk) },
      successors,
      mayRestart: assignment.onFailure === 'wait',
      onFact: (rank, fact) =>
        fact.kind === 'stacks' ? stacks.receive(rank, fact) : reporter.facts.receive(rank, fact),
      onFailure: () => reporter.failed(),
      onRankEnd: () => reporter.rankEnded(),
      onStepLine: (rank, line) => {
        ranks.silent?.stepPrinted();
        reporter.facts.receiveLine(rank, line);
      },
    });
  };

  const { verdict, cause } = await live({
    settings,
    bucket,
    environment,
    ranks,
    runPreflight: (assignment, signal) => {
      const isHost = ranksOf(assignment)[0] === 0;
      const { preflight } = reporter;
      return runPreflight({ settings, assignment, isHost, command, environment, bootId, preflight, logLine, signal });
    },
    newGang,
    watchSaves: (assignment) =>
      watchEngineSaves(assignment, { settings, bucket, environment, facts: reporter.facts, logLine }),
    reporter,
    keptLogs: kept,
    logLine,
    early: early.promise,
    signals,
    successors,
    memorySaves,
  });
  writeMessage({ settings, logLine }, cause);
  memorySaves?.end();
  await successors?.end();
  if (verdict.kind === 'fenced') await reporter.abandon();
  else await reporter.end(cause, LAST_WORD_MS);
  logLine(`${verdict.message}; exit ${verdict.exitCode} (${verdict.kind}).`);
  await Promise.all([stdout.drain(DRAIN_MS), stderr.drain(DRAIN_MS), kept.end()]);
  return verdict.exitCode;
}

/** Undefined if the job wants none. A variable of the engine that cannot be parsed is reported by the start of the ranks. */
function successorsOf(
  { preloadsPyTorch }: Settings,
  more: Pick<SuccessorsOptions, 'command' | 'secrets' | 'logLine'> & Pick<RunOptions, 'environment'>,
): Successors | undefined {
  const { environment, ...options } = more;
  return preloadsPyTorch ? new Successors({ ...options, startedBy: starterOf(environment) }) : undefined;
}

/** The ranks that run now, for callbacks that must reach them. */
interface Ranks {
  gang: Gang | undefined;
  silent: SilentRanks | undefined;
}

interface Life {
  readonly settings: Settings;
  readonly bucket: BucketSaves | undefined;
  readonly environment: RunOptions['environment'];
  readonly ranks: Ranks;
  /** Measures the pod before its first ranks start. */
  readonly runPreflight: (assignment: RankAssignment, signal: AbortSignal) => Promise<void>;
  readonly newGang: (assignment: RankAssignment) => Gang;
  /** Watches for checkpoints that the engine saves in its own format, if this pod is the one to do so. */
  readonly watchSaves: (assignment: RankAssignment) => EngineSaves;
  readonly reporter: Reporter;
  readonly keptLogs: Pick<KeptLogs, 'end'>;
  readonly logLine: (sentence: string) => void;
  readonly early: Promise<Verdict>;
  readonly signals: StopSignals;
  readonly successors: Pick<Successors, 'endedCpuMs'> | undefined;
  readonly memorySaves: MemorySavesOfPod | undefined;
}

/** How the ranks of an incarnation ended, or that none was ever started. */
interface Ending {
  readonly verdict: Verdict;
  readonly cause: TerminationCause;
}

/** One incarnation after the other, until one ends in a way that ends the pod. */
async function live(life: Life): Promise<Ending> {
  let last: Ending | undefined;
  for (;;) {
    const over = new AbortController();
    const next = await Promise.race([
      life.reporter.orders.nextAssignment(),
      life.early,
      stopped(life.signals),
      operatorUnreachable(life, last?.verdict, over.signal),
    ]);
    over.abort();
    // Whatever ends the wait, the pod ends as its last ranks ended.
    if ('exitCode' in next) return last ?? { verdict: next, cause: toCause(next, life) };
    if (last !== undefined) forgetMessage(life);
    last = await runAssigned(life, next);
    const { verdict, cause } = last;
    if (verdict.leavesProcesses === true)
      life.logLine(
        'A process that the ranks started does not end, although it was killed: this pod can run no others.',
      );
    if (!canRestartInPlace(verdict, next)) return last;
    // Before anything else: if the pod is killed from now on, its termination message already names the cause.
    writeMessage(life, cause);
    life.reporter.reaped(verdict.isOrdered === true ? undefined : cause, life.memorySaves?.savedBy(ranksOf(next)));
    life.logLine(
      `${verdict.message}; every process of incarnation ${next.incarnation} is gone, waiting for the next one.`,
    );
    // Now: the processor time of the process that keeps them is not work of the next ranks.
    void life.keptLogs.end();
  }
}

/** Runs the assigned ranks to their end. No process is left then, unless the verdict says so. */
async function runAssigned(life: Life, assignment: RankAssignment): Promise<Ending> {
  const { reporter, ranks, early, signals, logLine } = life;
  reporter.begin(assignment);
  const cpuMsOfSuccessors = life.successors?.endedCpuMs ?? 0;
  const cpuMsBefore = cpuMsOfEndedChildren();
  const gang = life.newGang(assignment);
  ranks.gang = gang;
  /** Signals may come much later, or never: their handlers must not keep the ranks of every incarnation in memory. */
  const running: Pick<Ranks, 'gang'> = { gang };
  const over = new AbortController();
  const before = await Promise.race([prepare(life, assignment, over.signal), early, stopped(signals), gang.ended]);
  over.abort();
  let saves: EngineSaves;
  if ('exitCode' in before) {
    gang.kill(before);
  } else {
    logLine(
      `Starting ranks ${assignment.ranks} of ${assignment.worldSize}, incarnation ${assignment.incarnation}; they meet at ${before.host}:${before.port}.`,
    );
    await gang.start(before);
    reporter.started();
    ranks.silent = new SilentRanks({ silentRanks: () => gang.silentRanks, logLine });
    saves = life.watchSaves(assignment);
    forwardSignals(life, running, assignment);
    void early.then((verdict) => running.gang?.kill(verdict));
  }
  const ended = await gang.ended;
  running.gang = undefined;
  ranks.silent?.end();
  ranks.silent = undefined;
  await finishWatching(saves, ended);
  // A checkpoint that did not verify before the start was read beside a control already.
  const verdict =
    'exitCode' in before
      ? ended
      : await withOwnFinding(ended, assignment, { settings: life.settings, stopped: signals.first });
  await reporter.finishVerifications({
    isStopping: signals.haveCome,
    isRestarting: canRestartInPlace(verdict, assignment),
  });
  logIgnoredFacts(gang, logLine);
  const ofSuccessors = (life.successors?.endedCpuMs ?? 0) - cpuMsOfSuccessors;
  const work = await workOf(verdict, { ...life, gang, assignment, cpuMsBefore: cpuMsBefore + ofSuccessors });
  return { verdict, cause: toCause(verdict, { ...life, gang, assignment, work }) };
}

function logIgnoredFacts({ garbage: { lines, connections } }: Gang, logLine: (sentence: string) => void): void {
  if (lines > 0) logLine(`${lines} lines on the report socket were no facts and were ignored.`);
  if (connections > 0) logLine(`${connections} connections to the report socket were of no rank, and were closed.`);
}

/** Returns where the ranks meet, or why they cannot start. A spare has no ranks, and waits until its ranks are ended or it is asked to stop. */
async function prepare(
  life: Life,
  assignment: RankAssignment,
  signal: AbortSignal,
): Promise<RendezvousAddress | Verdict> {
  const { settings, bucket, reporter, logLine } = life;
  await life.runPreflight(assignment, signal);
  if (ranksOf(assignment).length === 0 || signal.aborted) return await new Promise<never>(() => undefined);
  const suspects = reporter.orders.suspectsOf(assignment.incarnation);
  await tidyClaim(life, assignment, suspects);
  // The checkpoint is read only if a rank cannot read its save in memory, and then by the engine. From a bucket it must have been downloaded.
  if (assignment.memorySave !== undefined && bucket === undefined) return await meet(life, assignment, signal);
  return (
    (await resumeProblem(life, assignment)) ??
    (await newerVerdict(assignment, {
      settings,
      bucket,
      suspects,
      logLine,
    })) ??
    (await meet(life, assignment, signal))
  );
}

/** Frees the claim of saves that earlier runs did not complete. One launcher does so; storage that does not answer holds up no rank. */
async function tidyClaim(
  { settings, bucket, logLine }: Life,
  assignment: RankAssignment,
  suspects: readonly { readonly path: string }[],
): Promise<void> {
  const { saveDirectory, resume } = assignment;
  if (saveDirectory === undefined || ranksOf(assignment)[0] !== 0) return;
  const used = [...(resume === undefined ? [] : [resume]), ...suspects].map(({ path }) =>
    join(settings.checkpointMount, path),
  );
  const removing = removeUnfinishedSaves(join(settings.checkpointMount, saveDirectory), used).then(
    (removed) =>
      removed.forEach((directory) => logLine(`Removed ${directory}: an earlier run did not complete this save.`)),
    (error: unknown) => logLine(`Saves that earlier runs did not complete stay: ${(error as Error).message}`),
  );
  const removingUploads = bucket?.removeHalfUploaded(dirname(saveDirectory)).then(
    (removed) =>
      removed.forEach((folder) =>
        logLine(`Removed ${folder} from the bucket: an earlier run did not upload all of it.`),
      ),
    (error: unknown) => logLine(`Uploads that earlier runs did not complete stay: ${(error as Error).message}`),
  );
  await Promise.race([Promise.all([removing, removingUploads]), delay(TIDY_MS, undefined, { ref: false })]);
}

/** Returns where rank 0 listens: this launcher chooses the address if rank 0 is in its pod, else the operator distributes it. */
async function meet(life: Life, assignment: RankAssignment, signal: AbortSignal): Promise<RendezvousAddress> {
  const { settings, reporter, logLine } = life;
  const ranks = ranksOf(assignment);
  if (ranks[0] === 0) {
    const address = { host: settings.podIp, port: await freePort() };
    reporter.announceRendezvous(address);
    return ranks.length === assignment.worldSize ? { ...address, host: loopbackOf(settings.podIp) } : address;
  }
  const since = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - since) / 1000);
    const state = reporter.isConnected ? 'it has not reported one yet' : 'no operator listens';
    logLine(`Waiting for rank 0's address for ${seconds} s: ${state}.`);
  }, WAITING_SENTENCE_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
  const text = await reporter.orders.addressOf(assignment.incarnation);
  const address = parseAddress(text);
  if (address === undefined)
    throw new Error(`the operator gave ${JSON.stringify(text)} as rank 0's address, which is not host:port`);
  return address;
}

/** Ranks that share a pod share its loopback, whatever the pod's address is. */
function loopbackOf(podIp: string): string {
  return podIp.includes(':') ? '::1' : '127.0.0.1';
}

async function stopped(signals: StopSignals): Promise<Verdict> {
  await signals.first;
  return plainVerdict('stopped', 'asked to stop before any rank was started');
}

/** Settles when this launcher has reached no operator for its patience, so that nobody can start ranks here. */
async function operatorUnreachable(
  { reporter, settings }: Life,
  last: Verdict | undefined,
  signal: AbortSignal,
): Promise<Verdict> {
  const patienceMs = last === undefined ? settings.firstContactMs : settings.patienceMs;
  const pollMs = Math.min(CONTACT_POLL_MS, patienceMs);
  let since = performance.now();
  while (!signal.aborted) {
    if (reporter.isConnected) since = performance.now();
    if (performance.now() - since >= patienceMs) break;
    await delay(pollMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
  return last ?? plainVerdict('operatorUnreachable', neverReached(settings, reporter.whyUnreached));
}

function neverReached({ nodeName, reportUrls, firstContactMs }: Settings, why: string | undefined): string {
  const urls = cutText(reportUrls.join(', '), 256);
  const last = why === undefined ? '' : `. The last try failed: ${cutText(why, 512)}`;
  return `no operator was reached from node ${nodeName} within ${firstContactMs / 1000} s, so no rank was started; tried ${urls}${last}`;
}

function forwardSignals(life: Life, running: Pick<Ranks, 'gang'>, assignment: RankAssignment): void {
  const { settings, logLine, signals } = life;
  // The other half is for the upload.
  const ownShareMs = settings.bucket === undefined ? OWN_SHARE_OF_GRACE_MS : settings.gracePeriodMs;
  const graceMs = Math.max(settings.gracePeriodMs / 2, settings.gracePeriodMs - ownShareMs);
  void signals.first.then(() => {
    const { gang } = running;
    if (gang?.isRunning !== true) return;
    // Before anything else: the pod may be killed within a second. The message is replaced when the cause is known.
    writeMessage(life, toCause(KILLED_MEANWHILE, { ...life, gang, assignment }));
    logLine(`Asked to stop: the ranks have ${Math.round(graceMs / 1000)} s to save and end.`);
    gang.requestStop(graceMs);
  });
  void signals.second.then(() => {
    if (running.gang?.isRunning !== true) return;
    logLine('Asked to stop a second time: killing the ranks.');
    running.gang.kill({
      kind: 'stopped',
      exitCode: 128 + 9,
      signal: 'SIGKILL',
      message: 'killed by a second signal before the ranks had stopped',
    });
  });
}

/** The verdict on a launcher that was asked to stop and is killed before it can write another. */
const KILLED_MEANWHILE: Verdict = {
  kind: 'stopped',
  exitCode: 128 + 9,
  signal: 'SIGKILL',
  message: 'asked to stop, and killed before its ranks had ended',
};

function endedByOrder(message: string): Verdict {
  return { ...plainVerdict('stopped', `the operator ended the ranks: ${message}`), isOrdered: true };
}

/** Environment variables that name where the ranks save and resume. */
function placesOf(assignment: RankAssignment, settings: Settings): Readonly<Record<string, string>> {
  const { incarnation, resume, saveDirectory } = assignment;
  const { checkpointMount } = settings;
  return {
    [RANK_ENV.incarnation]: String(incarnation),
    ...(saveDirectory === undefined ? {} : { [RANK_ENV.saveDirectory]: join(checkpointMount, saveDirectory) }),
    ...(resume === undefined
      ? {}
      : {
          [RANK_ENV.resumeFrom]: resumeDirectory(settings, resume),
          [RANK_ENV.resumeManifestSha256]: resume.manifestSha256,
          [RANK_ENV.resumeRoot]: dirname(resumeDirectory(settings, resume)),
          [RANK_ENV.resumeStep]: String(resume.step),
        }),
  };
}

function writeMessage({ settings, logLine }: Pick<Life, 'settings' | 'logLine'>, cause: TerminationCause): void {
  const warning = writeTerminationMessage(settings.terminationLog, cause);
  if (warning !== undefined) logLine(warning);
}

/** Empties the termination message of the ranks before: those that are about to start have not ended. */
function forgetMessage({ settings, logLine }: Pick<Life, 'settings' | 'logLine'>): void {
  const warning = clearTerminationMessage(settings.terminationLog);
  if (warning !== undefined) logLine(warning);
}
