/** The command of an observed container, as the admission policy of the chart writes it, beside the command as it was. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OBSERVED_POD } from '@coxswain/api-types';
import { installObserver } from './install-observer.ts';

const POLICY = resolve(import.meta.dirname, '../../../../charts/coxswain/templates/observe.yaml');
/** What the policy puts before the command. */
const [, SCRIPT = ''] = /'-c', '(.*)', 'sh'\]/.exec(readFileSync(POLICY, 'utf8')) ?? [];

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-observe-'));
});

afterEach(() => {
  // An observer whose program has ended by a signal may still write.
  rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
});

/** What lies in the volume when the container starts. */
type Volume = 'empty' | 'whole' | 'broken' | 'endless';

async function fill(volume: Volume): Promise<void> {
  if (volume === 'empty') return;
  const observer = {
    whole: 'env >"$COXSWAIN_TEST_OUT"; echo "$@" >>"$COXSWAIN_TEST_OUT"; echo noise; echo noise >&2',
    broken: 'exit 3',
    endless: 'exec sleep 2',
  }[volume];
  const program = join(directory, 'program');
  writeFileSync(program, `#!/bin/sh\n${observer}\n`);
  chmodSync(program, 0o755);
  await installObserver(program, directory);
}

interface End {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: readonly string[], input = ''): End {
  const [program = '', ...args] = command;
  const env = { PATH: process.env['PATH'] ?? '', COXSWAIN_TEST_OUT: join(directory, 'seen') };
  const { status, signal, stdout, stderr } = spawnSync(program, args, { input, env, timeout: 10_000 });
  return { status, signal, stdout: stdout.toString('base64'), stderr: stderr.toString('base64') };
}

/** As the policy wraps it, with the folder of this test for the one in the pod. */
function wrapped(command: readonly string[]): readonly string[] {
  return ['/bin/sh', '-c', SCRIPT.replaceAll(OBSERVED_POD.directory, directory), 'sh', ...command];
}

const PROGRAMS: readonly (readonly [string, readonly string[], string?])[] = [
  [
    'ends well and prints bytes that are no text',
    ['sh', '-c', String.raw`printf '\377\000\r\n%s'  "a b"; printf '\376' >&2`],
  ],
  ['ends with a code of its own', ['sh', '-c', 'exit 7']],
  ['is ended by a signal', ['sh', '-c', 'kill -KILL $$']],
  ['ends itself with the signal of an end', ['sh', '-c', 'kill -TERM $$']],
  ['reads its input to the end', ['cat'], 'first\nsecond without an end'],
  ['gets arguments with spaces, quotes and nothing', ['printf', '<%s>', 'a b', `"'`, '', '*', '$HOME', '-c']],
  ['handles a signal', ['sh', '-c', 'trap "echo asked; exit 5" TERM; kill -TERM $$; sleep 1']],
  ['writes after a closed pipe', ['sh', '-c', 'yes | head -n 1']],
];

describe('a wrapped command', () => {
  const volumes: readonly Volume[] = ['empty', 'whole', 'broken', 'endless'];
  const rows = PROGRAMS.flatMap(([sentence, command, input]) =>
    volumes.map((volume) => [sentence, volume, command, input ?? ''] as const),
  );
  it.each(rows)(
    'that %s ends and prints as without, with a volume that is %s',
    async (_sentence, volume, command, input) => {
      await fill(volume);
      expect(run(wrapped(command), input)).toEqual(run(command, input));
    },
  );

  it('is the program itself, with the process ID of the shell, and an observer beside it that knows this ID', async () => {
    await fill('whole');
    const script = 'echo $$ $PPID; while [ ! -s "$COXSWAIN_TEST_OUT" ]; do sleep 0.01; done; sleep 0.1';
    const { stdout } = run(wrapped(['sh', '-c', script]));
    const [pid = '', parent = ''] = Buffer.from(stdout, 'base64').toString('utf8').trim().split(' ');
    expect(parent).toBe(String(process.pid));
    expect(readFileSync(join(directory, 'seen'), 'utf8').trimEnd().split('\n').at(-1)).toBe(`observe ${pid}`);
  });

  it('finds the hook before the paths of the image, and not where reports go', async () => {
    await fill('endless');
    const env = 'COXSWAIN_REPORT_CA=secret COXSWAIN_REPORT_URLS=https://x PYTHONPATH=/image/path';
    const { stdout } = run(['env', ...env.split(' '), ...wrapped(['env'])]);
    const seen = Buffer.from(stdout, 'base64').toString('utf8').split('\n');
    expect(seen).toContain(`PYTHONPATH=${directory}/hook:/image/path`);
    const ours = seen.filter((line) => line.startsWith('COXSWAIN_')).map((line) => line.split('=')[0]);
    expect(ours.toSorted()).toEqual(['COXSWAIN_BOOT_ID', 'COXSWAIN_REPORT_SOCKET', 'COXSWAIN_TEST_OUT']);
  });

  it('that is not there ends with the code of a shell, as the container would not have started', async () => {
    await fill('endless');
    expect(run(wrapped(['/no/such/program'])).status).toBe(127);
  });
});
