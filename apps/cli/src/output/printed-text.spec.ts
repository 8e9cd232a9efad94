import { aJob, aJobEvent } from '@coxswain/api-types/testing';
import { startFakeApi } from '@coxswain/api-client/testing';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { parse } from 'yaml';
import { main } from '../main.ts';

/** Sets a title, starts a red text, sends a C1 control and turns the direction of writing. */
const HOSTILE = 'a\u001b]0;title\u0007b\u001b[31mc\u009bd\u202ee';
const CLEAN = 'abc\ufffdd\ufffde';
const JOBS = '/v1/projects/research/jobs';
const JOB = `${JOBS}/${aJob().id}`;
const job = aJob({ summary: HOSTILE, labels: { team: HOSTILE }, owner: HOSTILE });

/** What a terminal obeys: controls except newline and tab, and marks that turn the direction of writing. */
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/u;

interface Printed {
  readonly out: string;
  readonly err: string;
}

/** Runs one command line and returns every byte that reaches standard output and standard error. */
async function printed(argv: readonly string[], widthColumns: number | undefined): Promise<Printed> {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-cli-'));
  writeFileSync(join(directory, 'config.yaml'), '');
  const fake = await startFakeApi({
    'GET /v1/whoami': { json: { name: HOSTILE, role: 'operator', project: 'research', memberships: [] } },
    [`GET ${JOBS}`]: { json: { items: [job] } },
    [`GET ${JOBS}?pageSize=100`]: { json: { items: [job] } },
    [`GET ${JOB}`]: { json: job },
    [`GET ${JOB}/events`]: { json: { items: [aJobEvent({ message: HOSTILE })] } },
    [`GET ${JOB}/logs?rank=0`]: { text: `${HOSTILE}\n` },
    [`POST ${JOB}/suspend`]: { problem: { status: 409, code: 'CONFLICT', detail: HOSTILE } },
  });
  const [out, err]: [string[], string[]] = [[], []];
  try {
    await main(argv, {
      env: { COXSWAIN_SERVER: fake.url, COXSWAIN_TOKEN: 'cxs_env', COXSWAIN_CONFIG: join(directory, 'config.yaml') },
      now: () => new Date('2026-01-01T01:00:00Z'),
      print: (line) => void out.push(`${line}\n`),
      printError: (line) => void err.push(`${line}\n`),
      stdout: new Writable({
        write(chunk: Buffer, _encoding, done) {
          out.push(chunk.toString());
          done();
        },
      }),
      widthColumns,
      pause: () => Promise.resolve(),
      signal: new AbortController().signal,
    });
    return { out: out.join(''), err: err.join('') };
  } finally {
    await fake.close();
    rmSync(directory, { recursive: true });
  }
}

describe.each([
  ['a terminal', 200],
  ['a pipe or a file', undefined],
])('what others wrote, printed to %s,', (_where, widthColumns) => {
  it.each<[string, readonly string[], keyof Printed]>([
    ['in the summary, owner and labels of a job', ['get', 'tiny-gpt'], 'out'],
    ['in the list of jobs', ['list'], 'out'],
    ['in an event', ['events', 'tiny-gpt'], 'out'],
    ['in a log', ['logs', 'tiny-gpt'], 'out'],
    ['in the name of the principal', ['whoami'], 'out'],
    ['in an error of the server', ['suspend', 'tiny-gpt'], 'err'],
  ])('%s is cleaned', async (_what, argv, stream) => {
    const text = (await printed(argv, widthColumns))[stream];
    expect(text).not.toMatch(OBEYED);
    expect(text).toContain(argv[0] === 'list' && widthColumns !== undefined ? 'abc' : CLEAN);
  });

  it.each<[string, (text: string) => unknown]>([
    ['json', (text) => JSON.parse(text)],
    ['yaml', (text) => parse(text)],
  ])('in a document as %s is escaped, and a parser reads it unchanged', async (format, read) => {
    const { out } = await printed(['-o', format, 'get', 'tiny-gpt'], widthColumns);
    expect(out).not.toMatch(OBEYED);
    expect(read(out)).toMatchObject({ summary: HOSTILE, owner: HOSTILE, labels: { team: HOSTILE } });
  });

  it('in a log is unchanged with --raw', async () => {
    expect((await printed(['logs', 'tiny-gpt', '--raw'], widthColumns)).out).toBe(`${HOSTILE}\n`);
  });
});
