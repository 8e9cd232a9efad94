import { EXIT_CODES, type TerminationCause } from '@coxswain/api-types';
import { verifyCheckpoint } from './checkpoint-verification.ts';
import { Gang } from './gang.ts';
import { LogSink } from './log-relay.ts';
import { freePort, parseAddress, type RendezvousAddress } from './rendezvous.ts';
import { newBootId, Reporter } from './reporter.ts';
import { isWholeGang, type Settings } from './settings.ts';
import { fitCause, writeTerminationMessage } from './termination.ts';
import { checkpointVerdict, type Verdict } from './verdict.ts';

const WAITING_SENTENCE_MS = 10_000;
const LAST_WORD_MS = 2_000;
const DRAIN_MS = 2_000;
/** Kept back from the pod's grace period for the launcher's own last words. */
const OWN_SHARE_OF_GRACE_MS = 3_000;

export interface RunOptions {
  readonly settings: Settings;
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * The life of one pod of a gang: check the checkpoint, meet, start the ranks, watch, tell how it ended. Gives the exit code.
 */
export async function run({ settings, command, environment }: RunOptions): Promise<number> {
  const stdout = new LogSink(process.stdout);
  const stderr = new LogSink(process.stderr);
  const say = (sentence: string): void => stderr.say(sentence);
  const bootId = newBootId();
  /** A verdict from outside the ranks. */
  const early = Promise.withResolvers<Verdict>();
  const reporter: Reporter = new Reporter({
    settings,
    bootId,
    say,
    alive: () => gang.alive,
    onStaleEpoch: (message) => early.resolve(fenced(message)),
  });
  const gang: Gang = new Gang({
    settings,
    bootId,
    command,
    environment,
    stdout,
    stderr,
    onFact: (rank, fact) => reporter.accept(rank, fact),
  });
  const signals = new StopSignals();

  const verdict = await decide({ settings, gang, reporter, say, early: early.promise, signals });
  await reporter.finishVerifications();
  const cause = toCause(verdict, { settings, gang, reporter });
  const warning = writeTerminationMessage(settings.terminationLog, cause);
  if (warning !== undefined) say(warning);
  if (gang.garbageFacts > 0) say(`${gang.garbageFacts} lines on the report descriptor were no facts and were ignored.`);
  if (verdict.kind === 'fenced') await reporter.abandon();
  else await reporter.end(cause, LAST_WORD_MS);
  say(`${verdict.message}; exit ${verdict.exitCode} (${verdict.kind}).`);
  await Promise.all([stdout.drain(DRAIN_MS), stderr.drain(DRAIN_MS)]);
  return verdict.exitCode;
}

interface Life {
  readonly settings: Settings;
  readonly gang: Gang;
  readonly reporter: Reporter;
  readonly say: (sentence: string) => void;
  readonly early: Promise<Verdict>;
  readonly signals: StopSignals;
}

async function decide(life: Life): Promise<Verdict> {
  const unreadable = await whyNotResume(life.settings);
  if (unreadable !== undefined) return unreadable;
  const before = await Promise.race([meet(life), life.early, stoppedBeforeStart(life.signals)]);
  if ('exitCode' in before) {
    life.gang.kill(before);
    return await life.gang.ended;
  }
  life.say(
    `Starting ${rankRange(life.settings)} of ${life.settings.worldSize}; they meet at ${before.host}:${before.port}.`,
  );
  life.gang.start(before);
  forwardSignals(life);
  void life.early.then((verdict) => life.gang.kill(verdict));
  return await life.gang.ended;
}

/** The verdict when the checkpoint that this epoch must resume from cannot be used; each pod looks at its own ranks' share of it. */
async function whyNotResume({ resume, firstRank, localWorldSize, worldSize }: Settings): Promise<Verdict | undefined> {
  if (resume === undefined) return undefined;
  const seen = await verifyCheckpoint(resume, {
    ranks: { ranks: Array.from({ length: localWorldSize }, (_, local) => firstRank + local), worldSize },
  });
  if (seen.kind === 'verified') return undefined;
  return checkpointVerdict(`the checkpoint ${resume.directory} did not verify: ${seen.why}`, seen.fault);
}

/** Learns where rank 0 listens: chosen here when it is ours, handed out by the operator when not. */
async function meet({ settings, reporter, say }: Life): Promise<RendezvousAddress> {
  if (settings.firstRank === 0) {
    const address = { host: settings.podIp, port: await freePort() };
    reporter.announce(address);
    return isWholeGang(settings) ? { ...address, host: loopbackOf(settings.podIp) } : address;
  }
  const since = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - since) / 1000);
    const state = reporter.isConnected ? 'it has not reported one yet' : 'no operator listens';
    say(`Waiting for rank 0's address for ${seconds} s: ${state}.`);
  }, WAITING_SENTENCE_MS);
  try {
    const text = await reporter.operatorsAddress;
    const address = parseAddress(text);
    if (address === undefined)
      throw new Error(`the operator gave ${JSON.stringify(text)} as rank 0's address, which is not host:port`);
    return address;
  } finally {
    clearInterval(timer);
  }
}

/** Ranks that share a pod share its loopback, whatever the pod's address is. */
function loopbackOf(podIp: string): string {
  return podIp.includes(':') ? '::1' : '127.0.0.1';
}

async function stoppedBeforeStart(signals: StopSignals): Promise<Verdict> {
  await signals.first;
  return plainVerdict('stopped', 'asked to stop before any rank was started');
}

function forwardSignals({ settings, gang, say, signals }: Life): void {
  const graceMs = Math.max(settings.gracePeriodMs / 2, settings.gracePeriodMs - OWN_SHARE_OF_GRACE_MS);
  void signals.first.then(() => {
    say(`Asked to stop: the ranks have ${Math.round(graceMs / 1000)} s to save and end.`);
    gang.requestStop(graceMs);
  });
  void signals.second.then(() => {
    say('Asked to stop a second time: killing the ranks.');
    gang.kill({
      kind: 'stopped',
      exitCode: 128 + 9,
      signal: 'SIGKILL',
      message: 'killed by a second signal before the ranks had stopped',
    });
  });
}

/** SIGTERM and SIGINT, counted from the start of the process. */
class StopSignals {
  readonly first: Promise<void>;
  readonly second: Promise<void>;

  constructor() {
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    let count = 0;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        count += 1;
        if (count === 1) first.resolve();
        else second.resolve();
      });
    }
    this.first = first.promise;
    this.second = second.promise;
  }
}

function fenced(message: string): Verdict {
  return plainVerdict('fenced', `the operator refused this epoch: ${message}`);
}

function plainVerdict(kind: 'stopped' | 'fenced', message: string): Verdict {
  return { kind, exitCode: EXIT_CODES[kind].code, message };
}

function toCause(
  verdict: Verdict,
  { settings, gang, reporter }: Pick<Life, 'settings' | 'gang' | 'reporter'>,
): TerminationCause {
  const { lastStep } = reporter;
  return fitCause({
    version: 1,
    kind: verdict.kind,
    epoch: settings.epoch,
    node: settings.nodeName.slice(0, 253),
    ...(verdict.rank === undefined ? {} : { rank: verdict.rank }),
    exitCode: verdict.exitCode,
    ...(verdict.signal === undefined ? {} : { signal: verdict.signal }),
    message: verdict.message,
    lastLines: verdict.rank === undefined ? [] : [...gang.lastLinesOf(verdict.rank)],
    ...(lastStep === undefined ? {} : { lastStep }),
    ...(verdict.checkpointFault === undefined ? {} : { checkpointFault: verdict.checkpointFault }),
    unreportedCheckpoints: [...reporter.unreportedCheckpoints],
  });
}

function rankRange({ firstRank, localWorldSize }: Settings): string {
  return localWorldSize === 1 ? `rank ${firstRank}` : `ranks ${firstRank}-${firstRank + localWorldSize - 1}`;
}
