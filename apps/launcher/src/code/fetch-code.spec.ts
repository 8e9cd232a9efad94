import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { vi } from 'vitest';
import { type CodeProblem, fetchCode, withoutCodeUrl } from './fetch-code.ts';

let directory: string;
let archive: Uint8Array<ArrayBuffer>;
let sha256: string;
let pauses: number[];
let lines: string[];
let offsets: number[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'code-'));
  writeFileSync(join(directory, 'train.py'), 'print(1)\n');
  archive = new Uint8Array(gzipSync(execFileSync('tar', ['-C', directory, '-cf', '-', 'train.py'])));
  sha256 = createHash('sha256').update(archive).digest('hex');
  [pauses, lines, offsets] = [[], [], []];
});

afterEach(() => rmSync(directory, { recursive: true }));

/** With these answers, one for each request; the last again for all that follow. */
const fetched = (
  answers: readonly (Response | Error)[],
  url: string | undefined = 'http://bucket:9000/code',
): Promise<CodeProblem | undefined> => {
  let asked = 0;
  const code = { sha256, directory: join(directory, 'unpacked'), url };
  return fetchCode(code, () => undefined, {
    get: (_url, { from }) => {
      offsets.push(from);
      const answer = answers[Math.min(asked++, answers.length - 1)];
      return answer instanceof Response ? Promise.resolve(answer.clone()) : Promise.reject(answer ?? new Error('none'));
    },
    pause: (ms) => Promise.resolve(pauses.push(ms)),
    random: () => 0.5,
    logLine: (line) => lines.push(line),
  });
};

const refused = (status: number, code: string): Response =>
  new Response(`<Error><Code>${code}</Code></Error>`, { status });

it('unpacks the code of the job, also if the bucket answers only the third time', async () => {
  expect(await fetched([new Error('fetch failed'), refused(503, 'SlowDown'), new Response(archive)])).toBeUndefined();
  expect(readFileSync(join(directory, 'unpacked', 'train.py'), 'utf8')).toBe('print(1)\n');
  expect(pauses).toEqual([1_500, 3_000]);
  expect(lines.at(-1)).toBe(`The job's code (1 files, SHA-256 ${sha256}) is in ${join(directory, 'unpacked')}.`);
});

/** The first bytes, and then a connection that breaks. */
const broken = (bytes: number): Response =>
  new Response(
    new ReadableStream({
      pull: (controller) => {
        if (bytes > 0) controller.enqueue(archive.slice(0, bytes));
        else controller.error(new Error('reset'));
        bytes = 0;
      },
    }),
  );
const rest = (from: number, said = from): Response =>
  new Response(archive.slice(from), { status: 206, headers: { 'content-range': `bytes ${said}-` } });

it.each<[string, () => readonly Response[], readonly number[]]>([
  ['goes on where a connection broke', () => [broken(20), rest(20)], [0, 20]],
  ['begins again if the server ignores the range', () => [broken(20), new Response(archive)], [0, 20]],
  ['begins again if the server sends another range', () => [broken(20), rest(9), new Response(archive)], [0, 20, 0]],
  ['keeps what it has while the server is busy', () => [broken(20), refused(503, 'SlowDown'), rest(20)], [0, 20, 20]],
])('%s', async (_what, answers, want) => {
  expect(await fetched(answers())).toBeUndefined();
  expect(offsets).toEqual(want);
  expect(existsSync(join(directory, 'unpacked', 'train.py'))).toBe(true);
});

describe('a download', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  /** A store that sends a part after each of these times. */
  const slow = (gapsMs: readonly number[], signal: AbortSignal): Response => {
    const size = Math.ceil(archive.length / gapsMs.length);
    let sent = 0;
    return new Response(
      new ReadableStream(
        {
          start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
          pull: async (controller) => {
            await vi.advanceTimersByTimeAsync(gapsMs[sent] ?? 0);
            if (signal.aborted) return;
            if (sent < gapsMs.length) controller.enqueue(archive.slice(sent * size, (sent + 1) * size));
            else controller.close();
            sent++;
          },
        },
        { highWaterMark: 0 },
      ),
    );
  };

  it.each([
    ['may take minutes', [50_000, 50_000, 50_000], 0],
    ['is tried again when nothing came for a minute', [50_000, 61_000], 1],
  ])('%s', async (_what, gapsMs, tries) => {
    let asked = 0;
    const problem = await fetchCode(
      { sha256, directory: join(directory, 'unpacked'), url: 'http://bucket:9000/code' },
      () => undefined,
      {
        get: (_url, { signal }) => Promise.resolve(asked++ === 0 ? slow(gapsMs, signal) : new Response(archive)),
        pause: () => Promise.resolve(),
        random: () => 0,
        logLine: (line) => lines.push(line),
      },
    );
    expect(problem).toBeUndefined();
    expect(lines.filter((line) => line.includes('no byte for 60 s'))).toHaveLength(tries);
  });
});

interface Case {
  readonly answer: () => Response | Error;
  readonly kind: CodeProblem['kind'];
  readonly sentence: string;
  readonly pauses?: number;
}

it.each<[string, Case]>([
  [
    'is gone',
    {
      answer: () => refused(404, 'NoSuchKey'),
      kind: 'doNotRestart',
      sentence: 'is no longer in the bucket. Submit the job again',
    },
  ],
  [
    'is in a bucket that is gone',
    {
      answer: () => refused(404, 'NoSuchBucket'),
      kind: 'launcherFailed',
      sentence: '404 NoSuchBucket. An administrator',
    },
  ],
  [
    'may not be read',
    {
      answer: () => refused(403, 'AccessDenied'),
      kind: 'launcherFailed',
      sentence: '403 AccessDenied. An administrator',
    },
  ],
  [
    'is in a store that is silent',
    {
      answer: () => new Error('fetch failed'),
      kind: 'launcherFailed',
      sentence: 'from http://bucket:9000: fetch failed',
      pauses: 5,
    },
  ],
  [
    'is in a store that fails',
    { answer: () => refused(500, 'InternalError'), kind: 'launcherFailed', sentence: '500 InternalError', pauses: 5 },
  ],
  [
    'has other bytes',
    { answer: () => new Response('other'), kind: 'doNotRestart', sentence: 'other bytes than were uploaded' },
  ],
])(
  'an archive that %s ends the launcher with a sentence',
  async (_which, { answer, kind, sentence, pauses: want = 0 }) => {
    const problem = await fetched([answer()]);
    expect(problem?.kind).toBe(kind);
    expect(problem?.message).toContain(sentence);
    expect(problem?.message).toContain(sha256);
    expect(pauses).toHaveLength(want);
    expect(existsSync(join(directory, 'unpacked'))).toBe(false);
  },
);

it('without a bucket an administrator is named, and what to do', async () => {
  const code = { sha256, directory, url: undefined };
  const problem = await fetchCode(code, () => undefined);
  expect(problem).toMatchObject({ kind: 'doNotRestart' });
  expect(problem?.message).toContain('An administrator sets codeBucket.uri of the chart.');
});

it('ranks do not get the URL', () => {
  expect(withoutCodeUrl({ COXSWAIN_CODE_URL: 'http://x', HOME: '/' })).toEqual({ HOME: '/' });
});
