/** Ranks that start again, and the processes that have imported a made-up PyTorch for them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { GIB_BYTES } from '@coxswain/units';
import { waitFor } from '@coxswain/local-cluster';
import { plainVerdict } from '../ending/verdict.ts';
import { LogSink } from '../logs/log-relay.ts';
import { rankProcesses } from '../processes/rank-processes.ts';
import { Successors, type SuccessorsOptions } from '../successors/successors.ts';
import { isRunning } from '../testing/launcher-process.ts';
import { Gang } from './gang.ts';

/** What PyTorch does in a successor alone is in the variable IN_SUCCESSOR. */
const TORCH = `
import os
from torch import cuda, distributed
if open('/proc/self/comm').read().startswith('successor'):
    exec(os.environ.get('IN_SUCCESSOR', ''))
`;
const PROGRAM = `
import os, sys, time, torch
from coxswain_hook.imports import ImportList
from coxswain_hook.reporter import Reporter
rank = os.environ['RANK']
before = dict(os.environ)
exec(os.environ.get('IN_PROGRAM', ''))
if 'COXSWAIN_IMPORTS_FILE' in os.environ:
    ImportList(os.environ['COXSWAIN_IMPORTS_FILE'], before).look()
if rank == '0' and os.environ['MASTER_PORT'] == '9':
    sys.exit(7)
reporter = Reporter.from_environment()
reporter.step(step=int(os.environ['MASTER_PORT']), rank=int(rank), step_time_ms=1, tokens=None)
print('pid', os.getpid(), 'port', os.environ['MASTER_PORT'], *sys.argv[1:], flush=True)
time.sleep(600)
`;
const LINE = /^\[rank (\d)\] pid (\d+) port (\d) (.*)$/gm;
const PLENTY = { limitBytes: 64 * GIB_BYTES, usedBytes: GIB_BYTES, of: 'pod' } as const;

const folder = mkdtempSync(join(tmpdir(), 'take-over-'));
const disposals: (() => Promise<void>)[] = [];

beforeAll(() => {
  const torch = { '__init__.py': TORCH, 'cuda.py': 'is_initialized = bool\n' };
  mkdirSync(join(folder, 'torch'));
  for (const [name, text] of Object.entries(torch)) writeFileSync(join(folder, 'torch', name), text);
  mkdirSync(join(folder, 'torch/distributed'));
  writeFileSync(join(folder, 'torch/distributed/__init__.py'), 'is_available = bool\n');
  writeFileSync(join(folder, 'train.py'), PROGRAM);
});
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Pod {
  /** All that the launcher has logged. */
  readonly log: () => string;
  /** Ranks 0 and 1 start with this port; with 9, rank 0 fails at once. */
  readonly start: (port: number) => Promise<Gang>;
  /** The same, until both have made a step. */
  readonly begin: (port: number) => Promise<Gang>;
  /** The pod is asked to stop. */
  readonly stop: () => void;
  /** Process of each rank that started with this port, and its arguments. */
  readonly ranks: (port: number) => readonly { readonly pid: number; readonly args: string }[];
}

/** A pod of two ranks whose successors do this when they import PyTorch, and whose program does that. */
function aPod(inSuccessor: string, more: Partial<SuccessorsOptions> = {}, inProgram = ''): Pod {
  const stdout = new PassThrough().setEncoding('utf8');
  let [printed, logged] = ['', ''];
  stdout.on('data', (text: string) => (printed += text));
  const command: readonly [string, ...string[]] = ['python3', join(folder, 'train.py'), '$(MASTER_PORT)'];
  const logLine = (sentence: string): void => void (logged += `${sentence}\n`);
  const successors = new Successors({
    command,
    startedBy: 'launcher',
    logLine,
    memory: () => PLENTY,
    ...more,
    times: { afterFirstStepMs: 1, lookMs: 20, answerMs: 300, ...more.times },
  });
  disposals.push(() => successors.end());
  const ranks: Pod['ranks'] = (wanted) =>
    [...printed.matchAll(LINE)]
      .filter(([, , , port]) => Number(port) === wanted)
      .toSorted(([, one], [, other]) => Number(one) - Number(other))
      .map(([, , pid, , args = '']) => ({ pid: Number(pid), args }));
  const steps = new Map<number, Set<number>>();
  const start: Pod['start'] = async (port) => {
    const gang = new Gang({
      settings: { nodeName: 'node-a', gracePeriodMs: 1_000 },
      own: { ranks: [0, 1], worldSize: 2, podIndex: 0, podCount: 1, incarnation: port },
      bootId: randomUUID(),
      command,
      environment: {
        PATH: process.env['PATH'],
        PYTHONPATH: folder,
        PYTHONDONTWRITEBYTECODE: '1',
        IN_SUCCESSOR: inSuccessor,
        IN_PROGRAM: inProgram,
        COXSWAIN_ENGINE_RUN: '{}',
      },
      stdout: new LogSink(stdout),
      stderr: new LogSink(stdout),
      onFact: (rank, fact) =>
        void (fact.kind === 'step' && steps.set(fact.step, new Set([rank, ...(steps.get(fact.step) ?? [])]))),
      successors,
      mayRestart: true,
    });
    disposals.push(() => endRanks(gang));
    await gang.start({ host: '127.0.0.1', port });
    return gang;
  };
  const begin: Pod['begin'] = async (port) => {
    const gang = await start(port);
    const haveStepped = (): boolean => steps.get(port)?.size === 2 && ranks(port).length === 2;
    await waitFor(haveStepped, { what: 'a step of both', intervalMs: 5 });
    return gang;
  };
  return { log: () => logged, start, begin, ranks, stop: () => successors.stop() };
}

async function endRanks(gang: Gang): Promise<void> {
  gang.kill(plainVerdict('stopped', 'a rank failed'));
  await gang.ended;
}

const logs = (pod: Pod, what: string | RegExp): Promise<unknown> =>
  waitFor(() => pod.log().match(what) !== null, { what: `${what} in ${pod.log()}`, intervalMs: 5 });
const pidsOf = (log: string): readonly number[] => [...log.matchAll(/is (\d+)$/gm)].map(([, pid]) => Number(pid));
const SAY_PID = 'print("is", os.getpid(), flush=True)';

describe('ranks that start again', () => {
  it('are the processes that have imported PyTorch for them, time after time', async () => {
    const pod = aPod(SAY_PID);
    const first = await pod.begin(1);
    await logs(pod, /Successors of ranks 0-1 have imported PyTorch and wait; they use [\d.]+ MiB of memory/);
    const waiting = pidsOf(pod.log());
    expect(waiting).toHaveLength(2);
    // They count as no rank.
    expect(rankProcesses(first.processes, performance.now()).map(({ rank }) => rank)).toEqual([0, 1]);
    expect(first.processes.map(({ pid }) => pid)).toEqual(pod.ranks(1).map(({ pid }) => pid));
    await endRanks(first);
    expect(waiting.every(isRunning)).toBe(true);
    const second = await pod.begin(2);
    expect(pod.ranks(2)).toEqual(waiting.map((pid) => ({ pid, args: '2' })));
    expect(pod.log()).not.toMatch(/Successor of rank \d: pid/);
    expect(pod.log()).toContain('Ranks 0-1: a successor that has imported PyTorch takes over.');
    expect(second.garbage).toEqual({ lines: 0, connections: 0 });
    await logs(pod, /(Successors of ranks 0-1[^]*){2}/);
    await endRanks(second);
    await pod.begin(3);
    expect(pod.ranks(3).map(({ pid }) => pid)).toEqual(pidsOf(pod.log()).slice(2));
    expect(waiting.some(isRunning)).toBe(false);
  });

  it.each<[string, string, string | RegExp, Partial<SuccessorsOptions>?]>([
    ['cannot import', 'raise RuntimeError("no room")', 'Rank 0 has no successor: RuntimeError: no room.'],
    [
      'hangs while it imports',
      'import time; time.sleep(600)',
      'Rank 0 has no successor: it imported for 500 ms.',
      { times: { importMs: 500 } },
    ],
    [
      'grows',
      'import time; kept = b"x" * 10 ** 8; time.sleep(600)',
      /Rank 0 has no successor: it uses [\d.]+ MiB of memory, and at most 64(\.0)? MiB are allowed\./,
      { mostBytes: 2 ** 26 },
    ],
    [
      'has no room',
      '',
      /no successors wait \(restartPolicy\.preloadPyTorch\): 2 need 2\.0 GiB/,
      { memory: () => ({ ...PLENTY, limitBytes: GIB_BYTES }) },
    ],
  ])('start anew if a successor %s', async (_sentence, inSuccessor, logged, more = {}) => {
    const pod = aPod(`${SAY_PID}\n${inSuccessor}`, more);
    const first = await pod.begin(1);
    await logs(pod, logged);
    await endRanks(first);
    await pod.begin(2);
    const successors = pidsOf(pod.log());
    expect(pod.ranks(2).some(({ pid }) => successors.includes(pid))).toBe(false);
    expect(pod.log()).not.toContain('takes over');
  });

  it('do not wait for one that is still importing, and leave none behind', async () => {
    const pod = aPod(`${SAY_PID}\nimport time; time.sleep(600)`);
    const first = await pod.begin(1);
    await logs(pod, /is \d+\n/);
    const importing = pidsOf(pod.log());
    await endRanks(first);
    await pod.begin(2);
    expect(pod.log()).toContain('Rank 0 imports PyTorch anew: it was still importing.');
    expect(pod.log()).toContain('Rank 1 imports PyTorch anew: its successor had not started.');
    expect(importing.some(isRunning)).toBe(false);
  });

  it('do not wait for one that does not answer', async () => {
    const pod = aPod(SAY_PID);
    const first = await pod.begin(1);
    await logs(pod, 'Successors of ranks 0-1 have imported PyTorch');
    await endRanks(first);
    const [, ofRank1 = 0] = pidsOf(pod.log());
    process.kill(ofRank1, 'SIGSTOP');
    // Rank 0 has ended before rank 1 is there.
    const second = await pod.start(9);
    expect(pod.log()).toContain('Rank 1 imports PyTorch anew: it did not answer within 0.3 s.');
    expect(await second.ended).toMatchObject({ kind: 'engineFailed', rank: 0, exitCode: 7 });
    expect(isRunning(ofRank1)).toBe(false);
  });
});

describe('the successors of a pod', () => {
  it('are given up after three failures', async () => {
    const pod = aPod('os._exit(3)');
    await endRanks(await pod.begin(1));
    const second = await pod.begin(2);
    await logs(pod, /no successors wait \(restartPolicy\.preloadPyTorch\): 3 of them failed in this pod\./);
    expect(pod.log().match(/has no successor: it ended/g)).toHaveLength(3);
    await endRanks(second);
    await pod.begin(3);
    expect(pod.log().match(/has no successor: it ended/g)).toHaveLength(3);
  });

  it('are judged by what the program sets, whatever else they import', async () => {
    const pod = aPod('', {}, 'os.environ["OMP_NUM_THREADS"] = "4"');
    await endRanks(await pod.begin(1));
    await pod.begin(2);
    await logs(pod, '3 of them failed in this pod.');
    expect(pod.log().match(/has no successor: the program sets OMP_NUM_THREADS,/g)).toHaveLength(3);
    expect(pod.log()).not.toContain('takes over');
  });

  it('do not start without the files of the launcher, as Python would then run the program', async () => {
    const hook = 'os.path.join(os.path.dirname(os.environ["COXSWAIN_IMPORTS_FILE"]), "hook")';
    const pod = aPod(SAY_PID, {}, `import shutil; shutil.rmtree(${hook}, ignore_errors=True)`);
    await pod.begin(1);
    await logs(pod, /no successors wait .*: .*\/hook\/sitecustomize\.py is gone; let no program delete it\./);
    expect(pidsOf(pod.log())).toEqual([]);
  });

  it('say at once that the command can have none', () => {
    const pod = aPod('', { command: ['bash', '-c', 'python3 train.py'] });
    expect(pod.log()).toMatch(/no successors wait \(restartPolicy\.preloadPyTorch\): the command begins with bash, /);
  });

  it.each<[string, (pod: Pod, memory: { used: number }) => void]>([
    ['the ranks need their memory', (_pod, memory) => void (memory.used = PLENTY.limitBytes - 1)],
    ['the pod is asked to stop, and its ranks save', (pod) => pod.stop()],
  ])('end when %s', async (_sentence, act) => {
    const memory = { used: PLENTY.usedBytes as number };
    const pod = aPod(SAY_PID, { memory: () => ({ ...PLENTY, usedBytes: memory.used }) });
    const first = await pod.begin(1);
    await logs(pod, 'Successors of ranks 0-1 have imported PyTorch');
    act(pod, memory);
    await waitFor(() => !pidsOf(pod.log()).some(isRunning), { what: 'their end', intervalMs: 5 });
    expect(pod.ranks(1).every(({ pid }) => isRunning(pid))).toBe(true);
    expect(first.isRunning).toBe(true);
  });
});
