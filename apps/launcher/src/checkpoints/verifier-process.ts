/**
 * Looking at checkpoints in a process of its own. A file server that is gone may answer nothing, not even an error: such a call cannot be cancelled, a process of
 * Node with one in it cannot end, and four of them leave none of its files and names to the launcher. This one can be left behind.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describeFault, type CheckpointFault, type SavedCheckpoint } from '@coxswain/api-types';
import type { RanksOfGang } from '@coxswain/checkpoint';
import { filesOnDisk } from './checkpoint-files.ts';
import {
  endOf,
  verifyCheckpoint,
  verifySaved,
  type CheckpointOnDisk,
  type Verification,
} from './checkpoint-verification.ts';
import type { SavedFact } from '../facts/engine-facts.ts';
import { thisProgram } from '../program/this-program.ts';

/** The subcommand that looks; not in the help, since nobody but a launcher asks it. */
export const VERIFY_CHECKPOINT = 'verify-checkpoint';
/** So often at most the process that looks says that it was answered. */
const PROGRESS_MS = 100;
/** The kernel may end the process that looks for want of memory, or start none for want of numbers: of that nothing follows. */
const TRIES = 3;
const PAUSE_MS = 1_000;

type Verifier = ChildProcessByStdio<null, Readable, null>;

/** A checkpoint to resume from, of which these ranks answer for a share. */
interface ToResume {
  readonly checkpoint: CheckpointOnDisk;
  readonly ranks: RanksOfGang;
}

/** A checkpoint that an engine says it has saved below the directory. */
interface Saved {
  readonly saveDirectory: string;
  readonly fact: SavedFact;
}

type Question = (ToResume & { readonly about: 'resume' }) | (Saved & { readonly about: 'saved' });

/** What was seen; or why nobody could look, which says nothing of the checkpoint and nothing of its mount. */
export type VerifierOutcome<T> = Verification<T> | { readonly kind: 'notVerified'; readonly why: string };

/** Whether the file system gave no answer at all, so that whoever looks later may get one. */
export function isMountSilent(seen: VerifierOutcome<unknown>): boolean {
  // An error would have said which.
  return seen.kind === 'refused' && seen.fault?.kind === 'MountBroken' && seen.fault.errno === undefined;
}

export interface VerifierOptions {
  /** So long the file system may give no answer at all. */
  readonly patienceMs: number;
  /** Program that looks, and its arguments before the question; default: this one. */
  readonly verifier?: readonly [string, ...string[]];
  /** Before another process is started in the place of one that ended without an answer; default: 1 s. */
  readonly pauseMs?: number;
}

/** As {@link verifyCheckpoint}, in a process of its own. */
export async function verifyResumedInProcess(
  asked: ToResume,
  options: VerifierOptions,
): Promise<VerifierOutcome<unknown>> {
  return await verifyInProcess({ about: 'resume', ...asked }, options);
}

/** As {@link verifySaved}, in a process of its own. */
export async function verifySavedInProcess(
  asked: Saved,
  options: VerifierOptions,
): Promise<VerifierOutcome<SavedCheckpoint>> {
  return await verifyInProcess({ about: 'saved', ...asked }, options);
}

/** As often as it takes until a process has looked, but no more than {@link TRIES} times. */
async function verifyInProcess<T>(question: Question, options: VerifierOptions): Promise<VerifierOutcome<T>> {
  for (let tried = 1; ; tried++) {
    const seen = await verifyOnce<T>(question, options);
    if (seen.kind !== 'notVerified' || tried === TRIES) return seen;
    await delay(options.pauseMs ?? PAUSE_MS);
  }
}

/**
 * While the process that looks tells of progress it may take as long as it takes. After `patienceMs` without it is left behind, and that is a mount that does not
 * work: it says nothing of the content.
 */
async function verifyOnce<T>(
  question: Question,
  { patienceMs, verifier = thisProgram(VERIFY_CHECKPOINT) }: VerifierOptions,
): Promise<VerifierOutcome<T>> {
  const [program, ...args] = verifier;
  try {
    const child = spawn(program, [...args, JSON.stringify(question)], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const answer = await Promise.race([answerOf(child), silence(child, patienceMs)]);
      return answer === undefined ? unanswered(question, patienceMs) : (JSON.parse(answer) as Verification<T>);
    } finally {
      // It may hang in the kernel, where no signal ends it: nobody waits for it.
      child.kill('SIGKILL');
      child.stdout.destroy();
      child.unref();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: 'notVerified', why: `no process could verify it: ${why}` };
  }
}

/** What the process that looks does: an empty line says that it was answered something, a line of JSON, which settles this, is what it found. */
export async function runVerifier(question: string, write: (text: string) => Promise<void>): Promise<void> {
  let told = -Infinity;
  const files = filesOnDisk(() => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    void write('\n');
  });
  const asked = JSON.parse(question) as Question;
  const seen =
    asked.about === 'saved'
      ? await verifySaved(asked.saveDirectory, asked.fact, files)
      : withoutManifest(await verifyCheckpoint(asked.checkpoint, { ranks: asked.ranks, files }));
  await write(`${JSON.stringify(seen)}\n`);
}

/** The manifest of a large gang has megabytes. */
function withoutManifest(seen: Verification<unknown>): Verification<unknown> {
  return seen.kind === 'verified' ? { kind: 'verified', value: {} } : seen;
}

/** Whatever calls of that process still hang once it has answered. */
async function answerOf(child: Verifier): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  child.once('error', reject);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).trimStart();
    if (said.endsWith('\n')) resolve(said);
  });
  child.once('close', (code, signal) => reject(new Error(`it ended with ${signal ?? `code ${code}`} and no answer`)));
  return await promise;
}

/** Settles once nothing was said for so long. */
async function silence(child: Verifier, patienceMs: number): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), patienceMs);
  child.stdout.on('data', () => timer.refresh()).once('close', () => clearTimeout(timer));
  await promise;
}

function unanswered<T>(question: Question, patienceMs: number): Verification<T> {
  const path = question.about === 'saved' ? question.saveDirectory : question.checkpoint.directory;
  const fault: CheckpointFault = {
    kind: 'MountBroken',
    path: endOf(path),
    found: `no answer within ${patienceMs / 1000} s`,
  };
  return { kind: 'refused', why: describeFault(fault), fault };
}
