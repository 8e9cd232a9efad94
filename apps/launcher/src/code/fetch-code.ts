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
  readonly get: (url: string) => Promise<Response>;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly logLine: (sentence: string) => void;
}

const SILENCE_MS = 60_000;
const PAUSES_MS = [1_000, 2_000, 5_000, 10_000, 20_000];

const realPorts = (logLine: FetchPorts['logLine']): FetchPorts => ({
  get: (url) => fetch(url, { signal: AbortSignal.timeout(SILENCE_MS) }),
  pause: delay,
  logLine,
});

/** A rank does not need the URL, which reads the archive for everyone who has it. */
export function withoutCodeUrl(environment: Readonly<Record<string, string | undefined>>): typeof environment {
  const { [POD_ENV.codeUrl]: _url, ...rest } = environment;
  return rest;
}

/** Downloads and unpacks the code of the job. A bucket that does not answer is asked for 40 s. Returns why it could not. */
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
  for (let tried = 0; ; tried++) {
    const got = await get(url, ports);
    if ('bytes' in got) return await unpack(got.bytes, { sha256, directory, archive, logLine: ports.logLine });
    const pauseMs = PAUSES_MS[tried];
    if (got.isFinal || pauseMs === undefined)
      return { kind: got.isGone ? 'doNotRestart' : 'launcherFailed', message: `${archive} ${got.why}` };
    ports.logLine(`${archive} ${got.why} Trying again in ${pauseMs / 1000} s.`);
    await ports.pause(pauseMs);
  }
}

interface NotGot {
  readonly why: string;
  /** The same request would get the same answer. */
  readonly isFinal: boolean;
  readonly isGone: boolean;
}

async function get(url: string, ports: FetchPorts): Promise<{ readonly bytes: Uint8Array } | NotGot> {
  const again = (why: string): NotGot => ({ why, isFinal: false, isGone: false });
  try {
    const answer = await ports.get(url);
    if (answer.ok) return await bytesOf(answer);
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
  }
}

async function bytesOf(answer: Response): Promise<{ readonly bytes: Uint8Array } | NotGot> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > CODE_LIMITS.archiveBytes)
      return { why: `has more than ${formatBytes(CODE_LIMITS.archiveBytes)}.`, isFinal: true, isGone: true };
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks) };
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
