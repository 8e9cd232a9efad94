import { setTimeout as delay } from 'node:timers/promises';
import { CODE_LIMITS, type ExitKind, POD_ENV } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';
import type { CodeSettings } from '../program/settings.ts';
import { unpackArchive, UnusableArchiveError } from './unpack-archive.ts';

/** Why ranks cannot start, and how the launcher ends. */
export interface CodeProblem {
  readonly kind: Extract<ExitKind, 'doNotRestart' | 'launcherFailed'>;
  readonly message: string;
}

/** What reaches outside, replaced in tests. */
export interface FetchPorts {
  /** Bytes from `from` on; a server may ignore it. */
  readonly get: (url: string, options: { readonly from: number; readonly signal: AbortSignal }) => Promise<Response>;
  readonly pause: (ms: number) => Promise<unknown>;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly logLine: (sentence: string) => void;
}

/** Of a download: the bandwidth of a bucket can be shared by a thousand pods that start together. */
const SILENCE_MS = 60_000;
const PAUSES_MS = [1_000, 2_000, 5_000, 10_000, 20_000];

const realPorts = (logLine: FetchPorts['logLine']): FetchPorts => ({
  get: (url, { from, signal }) => fetch(url, { signal, ...(from > 0 && { headers: { range: `bytes=${from}-` } }) }),
  pause: delay,
  random: Math.random,
  logLine,
});

/** A rank does not need the URL, which reads the archive for everyone who has it. */
export function withoutCodeUrl(environment: Readonly<Record<string, string | undefined>>): typeof environment {
  const { [POD_ENV.codeUrl]: _url, ...rest } = environment;
  return rest;
}

/** Downloads and unpacks the code of the job. A bucket that does not answer is asked for 38 to 76 s; what came before a break is kept. Returns why it could not. */
export async function fetchCode(
  { sha256, directory, url }: CodeSettings,
  logLine: FetchPorts['logLine'],
  ports: FetchPorts = realPorts(logLine),
): Promise<CodeProblem | undefined> {
  const archive = `The archive of the job's code (SHA-256 ${sha256})`;
  if (url === undefined)
    return {
      kind: 'doNotRestart',
      message: `${archive} cannot be fetched: the operator knows no bucket for code. An administrator sets codeBucket.uri of the chart.`,
    };
  const received: Uint8Array[] = [];
  for (let tried = 0; ; tried++) {
    const got = await get(url, received, ports);
    if ('bytes' in got) return await unpack(got.bytes, { sha256, directory, archive, logLine: ports.logLine });
    const leastMs = PAUSES_MS[tried];
    if (got.isFinal || leastMs === undefined)
      return { kind: got.isGone ? 'doNotRestart' : 'launcherFailed', message: `${archive} ${got.why}` };
    // Pods that start together do not ask together again.
    const pauseMs = Math.round(leastMs * (1 + ports.random()));
    ports.logLine(`${archive} ${got.why} Trying again in ${(pauseMs / 1000).toFixed(1)} s.`);
    await ports.pause(pauseMs);
  }
}

interface Got {
  readonly bytes: Uint8Array;
}

interface NotGot {
  readonly why: string;
  /** The same request would get the same answer. */
  readonly isFinal: boolean;
  readonly isGone: boolean;
}

/** Adds to `received`, so that the next request goes on from there. */
async function get(url: string, received: Uint8Array[], ports: FetchPorts): Promise<Got | NotGot> {
  const again = (why: string): NotGot => ({ why, isFinal: false, isGone: false });
  const stopping = new AbortController();
  const silence = setTimeout(() => stopping.abort(new Error(`no byte for ${SILENCE_MS / 1000} s`)), SILENCE_MS);
  const from = lengthOf(received);
  try {
    const answer = await ports.get(url, { from, signal: stopping.signal });
    const isContinued = answer.status === 206 && answer.headers.get('content-range')?.startsWith(`bytes ${from}-`);
    if (!isContinued && (answer.ok || answer.status === 416)) received.length = 0;
    if (answer.status === 206 && !isContinued)
      return again('could not be read from the bucket: it sent another range.');
    if (answer.ok) return await readInto(received, answer, () => silence.refresh());
    const code = /<Code>([A-Za-z]{1,64})<\/Code>/.exec((await answer.text()).slice(0, 4096))?.[1] ?? '';
    const status = `${answer.status} ${code}`.trim();
    if (answer.status === 404 && code !== 'NoSuchBucket')
      return {
        why: 'is no longer in the bucket. Submit the job again with its working directory, which uploads it again.',
        isFinal: true,
        isGone: true,
      };
    const isRefused = answer.status === 403 || answer.status === 404;
    if (!isRefused) return again(`could not be read from the bucket: ${status}.`);
    return {
      why: `could not be read: the bucket answered ${status}. An administrator checks codeBucket of the chart: bucket, endpoint, and s3:GetObject and s3:ListBucket of its credentials. If the archive was deleted, submit the job again with its working directory.`,
      isFinal: true,
      isGone: false,
    };
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    return again(`could not be read from ${new URL(url).origin}: ${reason}.`);
  } finally {
    clearTimeout(silence);
  }
}

async function readInto(received: Uint8Array[], answer: Response, onChunk: () => void): Promise<Got | NotGot> {
  let bytes = lengthOf(received);
  for await (const chunk of answer.body ?? []) {
    onChunk();
    bytes += chunk.length;
    if (bytes > CODE_LIMITS.archiveBytes)
      return { why: `has more than ${formatBytes(CODE_LIMITS.archiveBytes)}.`, isFinal: true, isGone: true };
    received.push(chunk);
  }
  return { bytes: Buffer.concat(received) };
}

function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

async function unpack(
  bytes: Uint8Array,
  options: Pick<CodeSettings, 'sha256' | 'directory'> & {
    readonly archive: string;
    readonly logLine: FetchPorts['logLine'];
  },
): Promise<CodeProblem | undefined> {
  const { sha256, directory, archive, logLine } = options;
  try {
    const { files } = await unpackArchive(bytes, { sha256, directory });
    logLine(`The job's code (${files} files, SHA-256 ${sha256}) is in ${directory}.`);
    return undefined;
  } catch (error) {
    const isFinal = error instanceof UnusableArchiveError;
    const what = isFinal ? 'cannot be used' : `cannot be unpacked to ${directory}`;
    return {
      kind: isFinal ? 'doNotRestart' : 'launcherFailed',
      message: `${archive} ${what}: ${(error as Error).message}.${isFinal ? ' Submit the job again with its working directory.' : ''}`,
    };
  }
}
