/** Ranks that do what they should not, each a real process. Needs Python. What was measured is printed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { POD_ENV } from '@coxswain/api-types';
import { findEnginePython, waitFor } from '@coxswain/local-cluster';
import { anAuthority, aWholeGang, FakeOperator } from '../testing/fake-operator.ts';
import { isRunning, LauncherProcess } from '../testing/launcher-process.ts';

const PYTHON = findEnginePython();
const AGENT = join(import.meta.dirname, '../../../../engines/agent');

const disposals: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

interface Run {
  readonly launcher: LauncherProcess;
  readonly operator: FakeOperator;
}

async function launch(
  program: string,
  more: {
    readonly ranks?: number;
    readonly environment?: Readonly<Record<string, string>>;
    readonly isUnread?: boolean;
  } = {},
): Promise<Run> {
  const operator = await FakeOperator.start(await anAuthority());
  operator.assignmentOf = () => aWholeGang(more.ranks ?? 1);
  const launcher = new LauncherProcess({
    engine: [PYTHON, '-c', `import json, os, socket, sys, time\n${program}`],
    operators: { urls: [operator.url], ca: (await anAuthority()).certPem },
    environment: { PYTHONPATH: AGENT, ...more.environment },
    isUnread: more.isUnread ?? false,
  });
  disposals.push(
    () => launcher.dispose(),
    () => operator.stop(),
  );
  return { launcher, operator };
}

/** Most memory that the launcher itself has had, in MiB. */
function peakMib({ launcher }: Run): number {
  const status = readFileSync(`/proc/${launcher.child.pid ?? 0}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}

/** Processor time that the launcher itself has had; clock ticks are hundredths of a second on Linux (proc_pid_stat(5), time(7)). */
function processorS({ launcher }: Run): number {
  const fields = readFileSync(`/proc/${launcher.child.pid ?? 0}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Connects as a hook would, with what the test says instead of the truth, and gives the answer. */
const HELLO = `
def hello(**lies):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ['COXSWAIN_REPORT_SOCKET'])
    truth = {'kind': 'hello', 'version': 1, 'pid': os.getpid(), 'bootId': os.environ['COXSWAIN_BOOT_ID'], 'rank': int(os.environ['RANK']), 'hook': 'engine'}
    s.sendall((json.dumps(truth | lies) + '\\n').encode())
    return s, json.loads(s.makefile().readline())
`;
/** Lines of facts that fit into the buffers of a socket, with room to spare. */
const IN_THE_SOCKET = 20_000;
const STEP = (step: string): string =>
  `json.dumps({'kind': 'step', 'step': ${step}, 'stepTimeMs': 1, 'loss': 1.5}) + '\\n'`;

describe('a rank that floods', () => {
  it('its log with a gigabyte, in lines that look like steps, takes less than half a minute of the processor, and none of it is kept', async () => {
    const line =
      'step: %d  loss:  8.00830  grad_norm:  1.0437  memory:  0.98GiB(4.15%%)  tps: 374  tflops: 0.00  mfu: 0.00%%';
    const run = await launch(
      `block = ''.join('${line}\\n' % i for i in range(10_000)).encode()\nbegun, written = time.time(), 0\nwhile written < 2 ** 30:\n    os.write(1, block[:65536]); written += 65536\nopen('took', 'w').write(str(time.time() - begun))\nwhile not os.path.exists('end'): time.sleep(0.02)`,
      {
        environment: { [POD_ENV.engineRun]: JSON.stringify({ stepLines: 'torchtitan' }) },
        isUnread: true,
      },
    );
    const took = Number(await waitFor(() => run.launcher.written('took'), { intervalMs: 50, what: 'the flood' }));
    const [peak, processor] = [peakMib(run), processorS(run)];
    process.stdout.write(
      `a gigabyte of lines was read in ${took.toFixed(1)} s, ${processor.toFixed(1)} s of the processor; the launcher had ${peak} MiB at most\n`,
    );
    run.launcher.read();
    writeFileSync(run.launcher.path('end'), '');
    expect(await run.launcher.exited).toBe(0);
    expect(processor).toBeLessThan(30);
    expect(peak).toBeLessThan(400);
    expect(run.operator.ofKind('step').length).toBeGreaterThan(0);
    expect(run.operator.violations).toEqual([]);
  });

  it('its socket waits for its launcher, which goes on with everything else', async () => {
    const begunMs = performance.now();
    const run = await launch(
      `${HELLO}\ns, answer = hello()\ntold, begun = 0, time.monotonic()\nwhile time.monotonic() - begun < 5:\n    s.sendall(''.join(${STEP('told + i + 1')} for i in range(100)).encode()); told += 100\ntook = time.monotonic() - begun\ns.close(); open('told', 'w').write(f'{told} {took}')`,
    );
    expect(await run.launcher.exited).toBe(0);
    const [sentFacts = 0, tookS = 0] = run.launcher.written('told')?.split(' ').map(Number) ?? [];
    process.stdout.write(`${sentFacts} facts were told in ${tookS.toFixed(1)} s\n`);
    // 1 MiB at once, then 256 KiB a second, of lines that cost 128 bytes at least, and what lies in the socket. However long it took.
    expect(sentFacts).toBeLessThan((1_048_576 + 262_144 * tookS) / 128 + IN_THE_SOCKET);
    expect(run.launcher.cause()).toMatchObject({ kind: 'finished', lastStep: sentFacts });
    // Twenty a second and those of two seconds at once, however long it took.
    const mostReported = (2 + (performance.now() - begunMs) / 1_000) * 20 + 1;
    expect(run.operator.ofKind('step').length).toBeLessThanOrEqual(mostReported);
    expect(run.launcher.stderr).not.toMatch(/no facts/);
  });
});

describe('a rank that lies', () => {
  it.each([
    ['about its rank', `hello(rank=1 - int(os.environ['RANK']))`, /was not started as rank/],
    ['about its process', `hello(pid=os.getppid())`, /was not started by this launcher/],
    ['about its launcher', `hello(bootId='another')`, /another start of the launcher/],
  ])('%s is not believed', async (_what, lie, why) => {
    const { launcher, operator } = await launch(
      `${HELLO}\ns, answer = ${lie}\nprint(answer)\ntry:\n    s.sendall((${STEP('7')}).encode())\nexcept OSError: pass\ntime.sleep(0.2)`,
      { ranks: 2 },
    );
    expect(await launcher.exited).toBe(0);
    expect(launcher.stdout.toString()).toMatch(why);
    expect(launcher.stderr).toMatch(/2 connections to the report socket were of no rank/);
    expect(operator.ofKind('step')).toEqual([]);
  });

  it('is told from a process that it did not start, be it of the same user', async () => {
    const { launcher, operator } = await launch(
      `open('socket', 'w').write(os.environ['COXSWAIN_REPORT_SOCKET'] + ' ' + os.environ['COXSWAIN_BOOT_ID'])\nwhile not os.path.exists('end'): time.sleep(0.02)`,
    );
    const text = await waitFor(() => launcher.written('socket'), { intervalMs: 20, what: 'the socket' });
    const [path = '', bootId] = text.split(' ');
    const stranger = connect(path);
    const answers: string[] = [];
    stranger.on('data', (chunk: Buffer) => answers.push(chunk.toString())).on('error', () => undefined);
    stranger.write(
      `${JSON.stringify({ kind: 'hello', version: 1, pid: process.pid, bootId, rank: 0, hook: 'engine' })}\n`,
    );
    await waitFor(() => answers.length > 0, { intervalMs: 5, what: 'the answer' });
    expect(answers.join('')).toMatch(/was not started by this launcher/);
    writeFileSync(launcher.path('end'), '');
    expect(await launcher.exited).toBe(0);
    expect(operator.ofKind('step')).toEqual([]);
  });
});

describe('a rank that leaves', () => {
  it.each([
    [
      'a daemon',
      `if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        open('daemon', 'w').write(str(os.getpid())); time.sleep(600)\n    os._exit(0)`,
    ],
    [
      'a daemon that nothing can ask to end',
      `import signal\nif os.fork() == 0:\n    os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    open('daemon', 'w').write(str(os.getpid())); time.sleep(600)`,
    ],
  ])('%s behind leaves nothing', async (_what, fork) => {
    const { launcher } = await launch(
      `${fork}\nwhile not os.path.exists('daemon') or not open('daemon').read(): time.sleep(0.02)\nsys.exit(3)`,
    );
    expect(await launcher.exited).toBe(3);
    expect(isRunning(Number(launcher.written('daemon')))).toBe(false);
  });

  it('words that are no UTF-8 is quoted in words that are', async () => {
    const { launcher, operator } = await launch(
      `os.write(2, b'lost \\xff\\xfe\\xc3( of \\xed\\xa0\\x80 it\\n'); sys.exit(4)`,
    );
    expect(await launcher.exited).toBe(4);
    expect(launcher.cause().lastLines.at(-1)).toMatch(/^lost \ufffd+\(? ?/);
    expect(launcher.cause().lastLines.every((line) => line.isWellFormed())).toBe(true);
    expect(operator.violations).toEqual([]);
  });

  it('SIGTERM unheard is killed before its pod is', async () => {
    const { launcher } = await launch(
      `import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('ready', 'w').write('1'); time.sleep(600)`,
      { environment: { [POD_ENV.gracePeriodSeconds]: '2' } },
    );
    await waitFor(() => launcher.written('ready'), { intervalMs: 20, what: 'the rank' });
    launcher.child.kill('SIGTERM');
    expect(await launcher.exited).toBe(137);
    expect(launcher.cause().message).toMatch(/did not stop within 1 s and was killed/);
  });
});
