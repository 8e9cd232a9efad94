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
export const LOOK = 'look';
/** So often at most the process that looks says that it was answered. */
const PROGRESS_MS = 100;
/** The kernel may end the process that looks for want of memory, or start none for want of numbers: of that nothing follows. */
const TRIES = 3;
const PAUSE_MS = 1_000;

type Looker = ChildProcessByStdio<null, Readable, null>;

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
export type Look<T> = Verification<T> | { readonly kind: 'unseen'; readonly why: string };

/** Whether the file system gave no answer at all, so that whoever looks later may get one. */
export function wasSilence(seen: Look<unknown>): boolean {
  // An error would have said which.
  return seen.kind === 'refused' && seen.fault?.kind === 'MountBroken' && seen.fault.errno === undefined;
}

export interface LookOptions {
  /** So long the file system may give no answer at all. */
  readonly patienceMs: number;
  /** Program that looks, and its arguments before the question; default: this one. */
  readonly looker?: readonly [string, ...string[]];
  /** Before another process is started in the place of one that ended without an answer; default: 1 s. */
  readonly pauseMs?: number;
}

/** As {@link verifyCheckpoint}, in a process of its own. */
export async function lookBeforeResume(asked: ToResume, options: LookOptions): Promise<Look<unknown>> {
  return await lookApart({ about: 'resume', ...asked }, options);
}

/** As {@link verifySaved}, in a process of its own. */
export async function lookAtSaved(asked: Saved, options: LookOptions): Promise<Look<SavedCheckpoint>> {
  return await lookApart({ about: 'saved', ...asked }, options);
}

/** As often as it takes until a process has looked, but no more than {@link TRIES} times. */
async function lookApart<T>(question: Question, options: LookOptions): Promise<Look<T>> {
  for (let tried = 1; ; tried++) {
    const seen = await lookOnce<T>(question, options);
    if (seen.kind !== 'unseen' || tried === TRIES) return seen;
    await delay(options.pauseMs ?? PAUSE_MS);
  }
}

/**
 * While the process that looks tells of progress it may take as long as it takes. After `patienceMs` without it is left behind, and that is a mount that does not
 * work: it says nothing of the content.
 */
async function lookOnce<T>(
  question: Question,
  { patienceMs, looker = thisProgram(LOOK) }: LookOptions,
): Promise<Look<T>> {
  const [program, ...args] = looker;
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
    return { kind: 'unseen', why: `no process could look at it: ${why}` };
  }
}

/** What the process that looks does: an empty line says that it was answered something, a line of JSON, which settles this, is what it found. */
export async function look(question: string, write: (text: string) => Promise<void>): Promise<void> {
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
async function answerOf(child: Looker): Promise<string> {
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
async function silence(child: Looker, patienceMs: number): Promise<undefined> {
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
