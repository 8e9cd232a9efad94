/**
 * Verifies checkpoints in a separate process. A file server that is gone may not answer at all, not even with an error. Such a call cannot be cancelled, a Node
 * process with a pending one cannot end, and four of them block all file system calls of the process. A separate process can be left behind.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describeFault, type CheckpointFault, type SavedCheckpoint } from '@coxswain/api-types';
import type { RanksOfGang } from '@coxswain/checkpoint';
import { type CheckpointFiles, filesOnDisk } from './checkpoint-files.ts';
import { inspectSave, type SaveInspection, TooLittleMemory } from './inspect-save.ts';
import {
  confirmFault,
  endOf,
  verifyCheckpoint,
  verifySaved,
  verifySuspect,
  type CheckpointOnDisk,
  type Verification,
} from './checkpoint-verification.ts';
import type { SavedFact } from '../facts/engine-facts.ts';
import { thisProgram } from '../program/this-program.ts';
import { silence } from './silence.ts';

/** The subcommand that verifies. Only a launcher calls it, so the help does not list it. */
export const VERIFY_CHECKPOINT = 'verify-checkpoint';
/** Shortest time between two progress lines of the verifier. */
const PROGRESS_MS = 100;
/** The kernel may kill the verifier for lack of memory, or start none for lack of process ids; that proves nothing about the checkpoint. */
const TRIES = 3;
const PAUSE_MS = 1_000;

type Verifier = ChildProcessByStdio<null, Readable, null>;

/** A checkpoint to resume from, and the ranks whose files are verified. */
interface ToResume {
  readonly checkpoint: CheckpointOnDisk;
  readonly ranks: RanksOfGang;
}

/** A checkpoint that an engine claims to have saved below the directory. */
interface Saved {
  readonly saveDirectory: string;
  readonly fact: SavedFact;
}

/** A suspect checkpoint, and the files of it that are read whole. */
interface Suspect {
  readonly checkpoint: CheckpointOnDisk;
  readonly files: readonly string[];
}

/** A checkpoint, and the fault that an engine reported of it. */
interface Reported {
  readonly checkpoint: CheckpointOnDisk;
  readonly fault: CheckpointFault;
}

/** A save that the launcher verified, whose bytes are inspected. */
interface ToInspect {
  readonly checkpoint: CheckpointOnDisk;
}

type Question =
  | (ToInspect & { readonly about: 'bytes' })
  | (ToResume & { readonly about: 'resume' })
  | (Saved & { readonly about: 'saved' })
  | (Suspect & { readonly about: 'suspect' })
  | (Reported & { readonly about: 'fault' });

/** The verification, or why no process could do it, which proves nothing about the checkpoint or its mount. */
export type VerifierOutcome<T> = Verification<T> | { readonly kind: 'notVerified'; readonly why: string };

/** Whether the file system gave no answer at all, so that a later verification may succeed. */
export function isMountSilent(seen: VerifierOutcome<unknown>): boolean {
  // An error would have said which.
  return seen.kind === 'refused' && seen.fault?.kind === 'MountBroken' && seen.fault.errno === undefined;
}

/** Time limits of a verification in a separate process, and the program to run. */
export interface VerifierOptions {
  /** How long the file system may give no answer at all. */
  readonly patienceMs: number;
  /** Program that verifies, and its arguments before the question; default: this program. */
  readonly verifier?: readonly [string, ...string[]];
  /** Pause before another process replaces one that ended without an answer; default: 1 s. */
  readonly pauseMs?: number;
}

/** Limits of an inspection: it may give up, and then it says nothing of the save. */
export interface InspectionOptions extends VerifierOptions {
  /** Settles when the inspection has to end. */
  readonly limit: Promise<unknown>;
}

/** JavaScript objects of a million chunks; their bytes are outside of this heap. */
const INSPECTION_HEAP_MB = 1024;

/** {@link verifyCheckpoint} in a separate process. */
export async function verifyResumedInProcess(
  asked: ToResume,
  options: VerifierOptions,
): Promise<VerifierOutcome<unknown>> {
  return await verifyInProcess({ about: 'resume', ...asked }, options);
}

/** {@link verifySaved} in a separate process. */
export async function verifySavedInProcess(
  asked: Saved,
  options: VerifierOptions,
): Promise<VerifierOutcome<SavedCheckpoint>> {
  return await verifyInProcess({ about: 'saved', ...asked }, options);
}

/** {@link verifySuspect} in a separate process. */
export async function verifySuspectInProcess(
  asked: Suspect,
  options: VerifierOptions,
): Promise<VerifierOutcome<unknown>> {
  return await verifyInProcess({ about: 'suspect', ...asked }, options);
}

/** {@link inspectSave} in a separate process, once, up to V1. */
export async function inspectSaveInProcess(
  asked: ToInspect,
  { limit, ...options }: InspectionOptions,
): Promise<VerifierOutcome<SaveInspection>> {
  const given = process.env['NODE_OPTIONS'];
  const NODE_OPTIONS = [given, `--max-old-space-size=${INSPECTION_HEAP_MB}`].filter(Boolean).join(' ');
  return await verifyOnce<SaveInspection>({ about: 'bytes', ...asked }, options, {
    env: { ...process.env, NODE_OPTIONS },
    limit,
  });
}

/** {@link confirmFault} in a separate process. A fault that no process could confirm is no evidence on content. */
export async function confirmFaultInProcess(asked: Reported, options: VerifierOptions): Promise<CheckpointFault> {
  const seen = await verifyInProcess<CheckpointFault>({ about: 'fault', ...asked }, options);
  if (seen.kind === 'verified') return seen.value;
  if (seen.kind === 'refused' && seen.fault !== undefined) return seen.fault;
  const { path, errno, expected = 'what was saved', found = 'another content' } = asked.fault;
  if (asked.fault.kind === 'ContentDiffers') return { kind: 'FileUnreadable', path, expected, found };
  return { kind: asked.fault.kind, path, ...(errno === undefined ? {} : { errno }) };
}

/** Starts verifiers until one answers, {@link TRIES} at most. */
async function verifyInProcess<T>(question: Question, options: VerifierOptions): Promise<VerifierOutcome<T>> {
  for (let tried = 1; ; tried++) {
    const seen = await verifyOnce<T>(question, options);
    if (seen.kind !== 'notVerified' || tried === TRIES) return seen;
    await delay(options.pauseMs ?? PAUSE_MS);
  }
}

/**
 * Waits for the verifier as long as it reports progress. After `patienceMs` without progress it is left behind and the mount counts as broken, which proves
 * nothing about the content.
 */
async function verifyOnce<T>(
  question: Question,
  { patienceMs, verifier = thisProgram(VERIFY_CHECKPOINT) }: VerifierOptions,
  { env = process.env, limit }: { readonly env?: NodeJS.ProcessEnv; readonly limit?: Promise<unknown> } = {},
): Promise<VerifierOutcome<T>> {
  const [program, ...args] = verifier;
  try {
    const child = spawn(program, [...args, JSON.stringify(question)], { stdio: ['ignore', 'pipe', 'ignore'], env });
    try {
      const ends = [answerOf(child), silence(child.stdout, patienceMs)];
      const late = limit?.then(() => Promise.reject(new Error('it took too long')));
      const answer = await Promise.race(late === undefined ? ends : [...ends, late]);
      return answer === undefined ? unanswered(question, patienceMs) : (JSON.parse(answer) as Verification<T>);
    } finally {
      // It may hang in the kernel, where no signal ends it, so nothing waits for it.
      child.kill('SIGKILL');
      child.stdout.destroy();
      child.unref();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: 'notVerified', why: `no process could verify it: ${why}` };
  }
}

/** The program of the verifier. An empty line reports progress; a line of JSON is the result. */
export async function runVerifier(question: string, write: (text: string) => Promise<void>): Promise<void> {
  let lastProgressMs = -Infinity;
  const onAnswer = (): void => {
    if (performance.now() - lastProgressMs < PROGRESS_MS) return;
    lastProgressMs = performance.now();
    void write('\n');
  };
  const asked = JSON.parse(question) as Question;
  const files = filesOnDisk(onAnswer);
  const result = asked.about === 'bytes' ? await inspect(asked, { files, onAnswer }) : await answer(asked, files);
  await write(`${JSON.stringify(result)}\n`);
}

async function inspect(
  { checkpoint }: ToInspect,
  access: { readonly files: CheckpointFiles; readonly onAnswer: () => void },
): Promise<Verification<SaveInspection>> {
  try {
    const value = await inspectSave(checkpoint, { level: 'V1', by: 'Launcher', ...access });
    return { kind: 'verified', value };
  } catch (error) {
    if (!(error instanceof TooLittleMemory)) throw error;
    return { kind: 'refused', why: error.message };
  }
}

async function answer(
  asked: Exclude<Question, { about: 'bytes' }>,
  files: CheckpointFiles,
): Promise<Verification<unknown>> {
  switch (asked.about) {
    case 'saved':
      return await verifySaved(asked.saveDirectory, asked.fact, files);
    case 'resume':
      return withoutManifest(await verifyCheckpoint(asked.checkpoint, { ranks: asked.ranks, files }));
    case 'suspect':
      return withoutManifest(await verifySuspect(asked.checkpoint, asked.files, files));
    case 'fault':
      return { kind: 'verified', value: await confirmFault(asked.checkpoint, asked.fault, files) };
  }
}

/** The manifest of a large gang has megabytes. */
function withoutManifest(seen: Verification<unknown>): Verification<unknown> {
  return seen.kind === 'verified' ? { kind: 'verified', value: {} } : seen;
}

/** The answer, even if calls of the verifier still hang afterwards. */
async function answerOf(child: Verifier): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let output = '';
  child.once('error', reject);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).trimStart();
    if (output.endsWith('\n')) resolve(output);
  });
  child.once('close', (code, signal) => reject(new Error(`it ended with ${signal ?? `code ${code}`} and no answer`)));
  return await promise;
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
