import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  MAX_RANKS_PER_POD,
  parseRanks,
  RANK_ENV,
  type RankAssignment,
  type TerminationCause,
} from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';
import { lookBeforeResume } from '../checkpoints/verifier-process.ts';
import { finishWatching, watchEngineSaves, type EngineSaves } from '../engine-saves/watch-engine-saves.ts';
import { stepWordsOf } from '../engine/engine-run.ts';
import { Gang } from '../gang/gang.ts';
import { LogSink } from '../logs/log-relay.ts';
import { SilentRanks } from '../hook/silent-ranks.ts';
import { lookAround } from '../preflight/run-preflight.ts';
import { freePort, parseAddress, type RendezvousAddress } from '../engine/rendezvous.ts';
import { Reporter } from '../reports/reporter.ts';
import type { Settings } from '../program/settings.ts';
import { SaveRequests } from '../requests/save-requests.ts';
import { AskedRanks } from '../requests/stack-requests.ts';
import { StopSignals } from './stop-signals.ts';
import { clearTerminationMessage, fitCause, writeTerminationMessage } from '../ending/termination.ts';
import { checkpointVerdict, makesRoom, plainVerdict, type Verdict } from '../ending/verdict.ts';

const WAITING_SENTENCE_MS = 10_000;
const LAST_WORD_MS = 2_000;
const DRAIN_MS = 2_000;
const CONTACT_POLL_MS = 1_000;
/** Kept back from the pod's grace period for the launcher's own last words. */
const OWN_SHARE_OF_GRACE_MS = 3_000;

export interface RunOptions {
  readonly settings: Settings;
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * The life of one pod of a gang: be assigned ranks, check the checkpoint, meet, start the ranks, watch, tell how it ended; and where others can be
 * started in their place, wait for that. Gives the exit code.
 */
export async function run({ settings, command, environment }: RunOptions): Promise<number> {
  const stdout = new LogSink(process.stdout);
  const stderr = new LogSink(process.stderr);
  const say = (sentence: string): void => stderr.say(sentence);
  // A process that is started again in the same pod is told from its predecessor.
  const bootId = randomUUID();
  /** A verdict from outside the ranks. */
  const early = Promise.withResolvers<Verdict>();
  const ranks: Ranks = { gang: undefined, silent: undefined };
  const asked = new AskedRanks({
    alive: () => ranks.gang?.alive ?? [],
    ask: (rank, request) => ranks.gang?.facts?.askForStacks(rank, request),
  });
  const saves = new SaveRequests({
    firstRank: () => ranks.gang?.alive.find(({ alive }) => alive)?.rank,
    ask: (rank, request) => ranks.gang?.facts?.askToSave(rank, request) ?? 'silent',
    say,
  });
  const reporter: Reporter = new Reporter({
    settings,
    bootId,
    say,
    stepWords: stepWordsOf(environment),
    alive: () => ranks.gang?.alive ?? [],
    onStaleEpoch: (message) => early.resolve(plainVerdict('fenced', `the operator refused this epoch: ${message}`)),
    stacks: (wanted) => asked.take(wanted),
    onEndRanks: (message) => ranks.gang?.kill(endedByOrder(message)),
    onSaveWanted: (wanted) => saves.hear(wanted),
  });
  const newGang = (assignment: RankAssignment): Gang =>
    new Gang({
      settings,
      own: { ...assignment, ranks: ranksOf(assignment) },
      bootId,
      command,
      environment: { ...environment, ...placesOf(assignment, settings) },
      stdout,
      stderr,
      onFact: (rank, fact) => (fact.kind === 'stacks' ? asked.hear(rank, fact) : reporter.accept(rank, fact)),
      onStepLine: (rank, line) => {
        ranks.silent?.stepPrinted();
        reporter.acceptLine(rank, line);
      },
    });

  const { verdict, cause } = await live({
    settings,
    ranks,
    lookAround: (assignment, signal) => {
      const isHost = ranksOf(assignment)[0] === 0;
      return lookAround({ settings, assignment, isHost, command, environment, bootId, reporter, say, signal });
    },
    newGang,
    watchSaves: (assignment) => watchEngineSaves(assignment, { settings, environment, reporter, say }),
    reporter,
    say,
    early: early.promise,
    signals: new StopSignals(),
  });
  writeMessage({ settings, say }, cause);
  if (verdict.kind === 'fenced') await reporter.abandon();
  else await reporter.end(cause, LAST_WORD_MS);
  say(`${verdict.message}; exit ${verdict.exitCode} (${verdict.kind}).`);
  await Promise.all([stdout.drain(DRAIN_MS), stderr.drain(DRAIN_MS)]);
  return verdict.exitCode;
}

/** What runs now, for those who must reach it. */
interface Ranks {
  gang: Gang | undefined;
  silent: SilentRanks | undefined;
}

interface Life {
  readonly settings: Settings;
  readonly ranks: Ranks;
  /** At the pod, before its first ranks. */
  readonly lookAround: (assignment: RankAssignment, signal: AbortSignal) => Promise<void>;
  readonly newGang: (assignment: RankAssignment) => Gang;
  /** Where the engine saves in its own way, and this pod is to see it. */
  readonly watchSaves: (assignment: RankAssignment) => EngineSaves;
  readonly reporter: Reporter;
  readonly say: (sentence: string) => void;
  readonly early: Promise<Verdict>;
  readonly signals: StopSignals;
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
      life.reporter.nextAssignment(),
      life.early,
      stopped(life.signals),
      nobodyReached(life, last?.verdict, over.signal),
    ]);
    over.abort();
    // Whatever ends the wait, what the pod has to say is how its ranks ended.
    if ('exitCode' in next) return last ?? { verdict: next, cause: toCause(next, life) };
    if (last !== undefined) forgetMessage(life);
    last = await runAssigned(life, next);
    const { verdict, cause } = last;
    if (verdict.leavesProcesses === true)
      life.say('A process that the ranks started does not end, although it was killed: this pod can run no others.');
    if (!makesRoom(verdict, next)) return last;
    // Before anything else: whoever kills the pod from now on finds in it what happened.
    writeMessage(life, cause);
    life.reporter.reaped(verdict.isOrdered === true ? undefined : cause);
    life.say(`${verdict.message}; every process of incarnation ${next.incarnation} is gone, waiting for the next one.`);
  }
}

/** Runs what was assigned; when it gives the ending no process is left, unless its verdict says so. */
async function runAssigned(life: Life, assignment: RankAssignment): Promise<Ending> {
  const { reporter, ranks, early, signals, say } = life;
  reporter.begin(assignment);
  const gang = life.newGang(assignment);
  ranks.gang = gang;
  /** Signals may come much later, or never: whoever waits for them must not keep the ranks of every incarnation in memory. */
  const running: Pick<Ranks, 'gang'> = { gang };
  const over = new AbortController();
  const before = await Promise.race([prepare(life, assignment, over.signal), early, stopped(signals), gang.ended]);
  over.abort();
  let saves: EngineSaves;
  if ('exitCode' in before) {
    gang.kill(before);
  } else {
    say(
      `Starting ranks ${assignment.ranks} of ${assignment.worldSize}, incarnation ${assignment.incarnation}; they meet at ${before.host}:${before.port}.`,
    );
    await gang.start(before);
    ranks.silent = new SilentRanks({ silentRanks: () => gang.silentRanks, say });
    saves = life.watchSaves(assignment);
    forwardSignals(life, running, assignment);
    void early.then((verdict) => running.gang?.kill(verdict));
  }
  const verdict = await gang.ended;
  running.gang = undefined;
  ranks.silent?.end();
  ranks.silent = undefined;
  await finishWatching(saves, verdict);
  await reporter.finishVerifications();
  sayGarbage(gang, say);
  return { verdict, cause: toCause(verdict, { ...life, gang, assignment }) };
}

function sayGarbage({ garbage: { lines, connections } }: Gang, say: (sentence: string) => void): void {
  if (lines > 0) say(`${lines} lines on the report socket were no facts and were ignored.`);
  if (connections > 0) say(`${connections} connections to the report socket were of no rank, and were closed.`);
}

/** Gives where the ranks meet, or why they cannot begin. A spare has no ranks, and waits until it is told or asked to end. */
async function prepare(
  life: Life,
  assignment: RankAssignment,
  signal: AbortSignal,
): Promise<RendezvousAddress | Verdict> {
  await life.lookAround(assignment, signal);
  if (ranksOf(assignment).length === 0 || signal.aborted) return await new Promise<never>(() => undefined);
  return (await whyNotResume(life.settings, assignment)) ?? (await meet(life, assignment, signal));
}

/** The verdict when the checkpoint to resume from cannot be used; each pod looks at its own ranks' share of it. */
async function whyNotResume(settings: Settings, assignment: RankAssignment): Promise<Verdict | undefined> {
  const { resume, worldSize } = assignment;
  if (resume === undefined) return undefined;
  const directory = join(settings.checkpointMount, resume.path);
  const { manifestSha256 } = resume;
  const ranks = { ranks: ranksOf(assignment), worldSize };
  const seen = await lookBeforeResume(
    { checkpoint: { directory, manifestSha256 }, ranks },
    { patienceMs: settings.mountPatienceMs },
  );
  if (seen.kind === 'verified') return undefined;
  // Not the checkpoint's fault: three of those would have a person choose another one.
  if (seen.kind === 'unseen')
    return plainVerdict('launcherFailed', `the checkpoint ${directory} was not looked at: ${seen.why}`);
  return checkpointVerdict(`the checkpoint ${directory} did not verify: ${seen.why}`, seen.fault);
}

/** Learns where rank 0 listens: chosen here when it is ours, handed out by the operator when not. */
async function meet(life: Life, assignment: RankAssignment, signal: AbortSignal): Promise<RendezvousAddress> {
  const { settings, reporter, say } = life;
  const ranks = ranksOf(assignment);
  if (ranks[0] === 0) {
    const address = { host: settings.podIp, port: await freePort() };
    reporter.announce(address);
    return ranks.length === assignment.worldSize ? { ...address, host: loopbackOf(settings.podIp) } : address;
  }
  const since = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - since) / 1000);
    const state = reporter.isConnected ? 'it has not reported one yet' : 'no operator listens';
    say(`Waiting for rank 0's address for ${seconds} s: ${state}.`);
  }, WAITING_SENTENCE_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
  const text = await reporter.addressOf(assignment.incarnation);
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

/** Nobody who could begin ranks, or those of another incarnation, was reached for as long as this launcher is patient. */
async function nobodyReached(
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
  return last ?? plainVerdict('operatorUnreachable', neverReached(settings));
}

function neverReached({ nodeName, reportUrls, firstContactMs }: Settings): string {
  const urls = cutText(reportUrls.join(', '), 512);
  return `no operator was reached from node ${nodeName} within ${firstContactMs / 1000} s, so no rank was started; tried ${urls}`;
}

function forwardSignals(life: Life, running: Pick<Ranks, 'gang'>, assignment: RankAssignment): void {
  const { settings, say, signals } = life;
  const graceMs = Math.max(settings.gracePeriodMs / 2, settings.gracePeriodMs - OWN_SHARE_OF_GRACE_MS);
  void signals.first.then(() => {
    const { gang } = running;
    if (gang?.isRunning !== true) return;
    // Before anything else, and written anew when it is known: whoever broke off with this pod kills it in a second.
    writeMessage(life, toCause(KILLED_MEANWHILE, { ...life, gang, assignment }));
    say(`Asked to stop: the ranks have ${Math.round(graceMs / 1000)} s to save and end.`);
    gang.requestStop(graceMs);
  });
  void signals.second.then(() => {
    if (running.gang?.isRunning !== true) return;
    say('Asked to stop a second time: killing the ranks.');
    running.gang.kill({
      kind: 'stopped',
      exitCode: 128 + 9,
      signal: 'SIGKILL',
      message: 'killed by a second signal before the ranks had stopped',
    });
  });
}

/** What is true of a launcher that was asked to stop, if it gets to say nothing more. */
const KILLED_MEANWHILE: Verdict = {
  kind: 'stopped',
  exitCode: 128 + 9,
  signal: 'SIGKILL',
  message: 'asked to stop, and killed before its ranks had ended',
};

function endedByOrder(message: string): Verdict {
  return { ...plainVerdict('stopped', `the operator ended the ranks: ${message}`), isOrdered: true };
}

function ranksOf({ ranks }: RankAssignment): readonly number[] {
  return parseRanks(ranks, MAX_RANKS_PER_POD);
}

/** Where the ranks save and begin, in their environment. */
function placesOf(assignment: RankAssignment, { checkpointMount }: Settings): Readonly<Record<string, string>> {
  const { incarnation, resume, saveDirectory } = assignment;
  return {
    [RANK_ENV.incarnation]: String(incarnation),
    ...(saveDirectory === undefined ? {} : { [RANK_ENV.saveDirectory]: join(checkpointMount, saveDirectory) }),
    ...(resume === undefined
      ? {}
      : {
          [RANK_ENV.resumeFrom]: join(checkpointMount, resume.path),
          [RANK_ENV.resumeManifestSha256]: resume.manifestSha256,
          [RANK_ENV.resumeRoot]: dirname(join(checkpointMount, resume.path)),
          [RANK_ENV.resumeStep]: String(resume.step),
        }),
  };
}

function writeMessage({ settings, say }: Pick<Life, 'settings' | 'say'>, cause: TerminationCause): void {
  const warning = writeTerminationMessage(settings.terminationLog, cause);
  if (warning !== undefined) say(warning);
}

/** What is left of the ranks before must not be taken for how those that are about to start ended. */
function forgetMessage({ settings, say }: Pick<Life, 'settings' | 'say'>): void {
  const warning = clearTerminationMessage(settings.terminationLog);
  if (warning !== undefined) say(warning);
}

function toCause(
  verdict: Verdict,
  about: Pick<Life, 'settings' | 'reporter'> & { readonly gang?: Gang; readonly assignment?: RankAssignment },
): TerminationCause {
  const { settings, reporter, gang, assignment } = about;
  const { lastStep } = reporter;
  const incarnation = assignment?.incarnation ?? 1;
  return fitCause({
    version: 1,
    kind: verdict.kind,
    epoch: settings.epoch,
    // The first is left out, so that an operator of the release before can read it.
    ...(incarnation === 1 ? {} : { incarnation }),
    node: settings.nodeName.slice(0, 253),
    ...(verdict.rank === undefined ? {} : { rank: verdict.rank }),
    exitCode: verdict.exitCode,
    ...(verdict.signal === undefined ? {} : { signal: verdict.signal }),
    message: verdict.message,
    lastLines: hasLines(verdict) ? [...(gang?.lastLinesOf(verdict.rank) ?? [])] : [],
    ...(lastStep === undefined ? {} : { lastStep }),
    ...(verdict.checkpointFault === undefined ? {} : { checkpointFault: verdict.checkpointFault }),
    unreportedCheckpoints: [...reporter.unreportedCheckpoints],
  });
}

/** Of a rank, or of who starts the ranks where it named none. */
function hasLines({ rank, kind }: Verdict): boolean {
  return rank !== undefined || kind === 'engineFailed';
}
