/** PyTorch's own torchrun under the launcher: the ranks are scripts without PyTorch, so that what takes time is torchrun alone. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  LISTENED_PARTS,
  lostItsPeer,
  POD_ENV,
  type EngineRun,
  type LauncherMessage,
  type RankAssignment,
  type TerminationCause,
} from '@coxswain/api-types';
import { findEnginePython, waitFor } from '@coxswain/local-cluster';
import { aCheckpointIn } from '../testing/a-checkpoint.ts';
import { anAuthority, aWholeGang, FakeOperator, obliging } from '../testing/fake-operator.ts';
import { isRunning, LauncherProcess } from '../testing/launcher-process.ts';

const PYTHON = findEnginePython();
const TORCHRUN = [
  join(dirname(PYTHON), 'torchrun'),
  '--nnodes=$(GROUP_WORLD_SIZE)',
  '--nproc-per-node=$(LOCAL_WORLD_SIZE)',
  '--node-rank=$(GROUP_RANK)',
  '--master-addr=$(MASTER_ADDR)',
  '--master-port=$(MASTER_PORT)',
  '--max-restarts=0',
  '--no-python',
];
const AGENT = join(import.meta.dirname, '../../../../engines/agent');
/** A rank that says who it is and where it was told to meet, tells a step, and then does what its test says. */
const RANK = `
import os, pathlib, signal, sys, time
from coxswain_agent import Reporter
rank = int(os.environ['RANK'])
reporter = Reporter.from_environment({} if os.environ.get('WITHOUT_HOOK') == str(rank) else os.environ)
reporter.step(step=1, rank=rank, step_time_ms=5, tokens=8, loss=2.5)
reporter.wait_until_written(30)
print(f'rank {rank} of {os.environ["WORLD_SIZE"]} is at work', flush=True)
pathlib.Path(f'pid.{rank}').write_text(str(os.getpid()))
def until(*names):
    while not all(pathlib.Path(name).exists() for name in names):
        time.sleep(0.02)
def stop(*_):
    print('saved', flush=True)
    reporter.close()
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
`;

const disposals: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

async function launch(
  act: string,
  more: More & { readonly assignment?: Partial<RankAssignment> } = {},
): Promise<{ readonly launcher: LauncherProcess; readonly operator: FakeOperator }> {
  const operator = await startOperator(() => aWholeGang(2, more.assignment));
  return { launcher: await launchPod(operator, act, more), operator };
}

interface More {
  readonly run?: Partial<EngineRun>;
  readonly environment?: Readonly<Record<string, string>>;
}

async function startOperator(assignmentOf: FakeOperator['assignmentOf']): Promise<FakeOperator> {
  const operator = await FakeOperator.start(await anAuthority());
  operator.assignmentOf = assignmentOf;
  disposals.push(() => operator.stop());
  return operator;
}

async function launchPod(operator: FakeOperator, act: string, { run, environment }: More): Promise<LauncherProcess> {
  const files = [
    { path: 'lib/rank.py', text: RANK + act },
    { path: 'told.py', text: 'SAID = 5\n' },
  ];
  const rendered = { startedBy: 'torchrun', files, ...run };
  const launcher = new LauncherProcess({
    engine: [...TORCHRUN, PYTHON, '$(COXSWAIN_ENGINE_FILES)/lib/rank.py'],
    operators: { urls: [operator.url], ca: (await anAuthority()).certPem },
    environment: { PYTHONPATH: AGENT, [POD_ENV.engineRun]: JSON.stringify(rendered), ...environment },
  });
  disposals.push(() => launcher.dispose());
  return launcher;
}

function atWork(launcher: LauncherProcess): Promise<unknown> {
  return waitFor(() => launcher.written('pid.0') !== undefined && launcher.written('pid.1') !== undefined, {
    intervalMs: 20,
    what: 'both ranks',
    deadlineMs: 300_000,
  });
}

describe('ranks that torchrun starts', () => {
  it('tell facts as the ranks that they are, find the modules that were rendered, and finish', async () => {
    const { launcher, operator } = await launch(
      `import told\nuntil('pid.0', 'pid.1') if told.SAID == 5 else sys.exit(1)`,
    );
    expect(await launcher.exited).toBe(0);
    expect(launcher.cause()).toMatchObject({ kind: 'finished', lastStep: 1 });
    expect(operator.ofKind('step')).toMatchObject([{ report: { loss: 2.5, ranks: [{ rank: 0 }, { rank: 1 }] } }]);
    expect(launcher.stdout.toString()).toMatch(/\[ranks 0-1\] rank 1 of 2 is at work/);
    expect(operator.violations).toEqual([]);
  });

  it.each([
    ['with a hook', {}],
    ['without a hook', { WITHOUT_HOOK: '1' }],
  ])(
    'and one %s that exits with 0 while the other waits has finished, as the launcher reports',
    async (_how, environment) => {
      const operator = await startOperator(() => aWholeGang(2));
      operator.listensTo = LISTENED_PARTS;
      const act = `
until('pid.0', 'pid.1')
time.sleep(1.5) if rank == 1 else until('end')`;
      const launcher = await launchPod(operator, act, { environment });
      await atWork(launcher);
      const last = (): readonly string[] =>
        operator
          .ofKind('heartbeat')
          .at(-1)
          ?.processes?.map(({ rank, state }) => `${rank} ${state === 'finished' ? state : 'runs'}`)
          .toSorted() ?? [];
      await waitFor(() => last().includes('1 finished'), {
        intervalMs: 20,
        what: 'the end of rank 1',
        deadlineMs: 20_000,
      });
      expect(last()).toEqual(['0 runs', '1 finished']);
      expect(
        operator
          .ofKind('heartbeat')
          .at(-1)
          ?.ranks.map(({ alive }) => alive),
      ).toEqual([true, false]);
      writeFileSync(launcher.path('end'), '');
      expect(await launcher.exited).toBe(0);
      expect(operator.violations).toEqual([]);
    },
  );

  it('and one that fails after the other has finished is reported beside it', async () => {
    const operator = await startOperator(() => aWholeGang(2));
    operator.listensTo = LISTENED_PARTS;
    const act = `
until('pid.0', 'pid.1')
if rank == 0:
    # Only torchrun removes the other rank from the table of processes, when it has seen its end.
    while os.path.exists('/proc/' + pathlib.Path('pid.1').read_text()): time.sleep(0.02)
    time.sleep(0.6); sys.exit(4)`;
    const launcher = await launchPod(operator, act, {});
    await launcher.exited;
    expect(launcher.cause()).toMatchObject({ kind: 'engineFailed', rank: 0, exitCode: 4, finishedRanks: '1' });
  });

  it.each<[string, string, object, RegExp]>([
    [
      'killed is named, with the signal, and not the exit code of torchrun',
      `until('pid.0', 'pid.1'); os.kill(os.getpid(), signal.SIGKILL) if rank == 1 else time.sleep(600)`,
      { kind: 'engineFailed', rank: 1, exitCode: 137, signal: 'SIGKILL' },
      /^rank 1 on node node-2 was killed by SIGKILL/,
    ],
    [
      'refuses to be restarted is believed',
      `until('pid.0', 'pid.1'); sys.exit(93) if rank == 0 else time.sleep(600)`,
      { kind: 'doNotRestart', rank: 0, exitCode: 93 },
      /^rank 0 on node node-2 exited with code 93/,
    ],
  ])('and one that is %s', async (_sentence, act, want, message) => {
    const { launcher } = await launch(act);
    expect(await launcher.exited).toBe((want as { exitCode: number }).exitCode);
    expect(launcher.cause()).toMatchObject(want);
    expect(launcher.cause().message).toMatch(message);
    expect(launcher.cause().lastLines.join('\n')).toMatch(/is at work/);
    expect(launcher.cause().lastLines.join('\n')).not.toMatch(/Root Cause|ChildFailedError/);
  });

  it.each([
    ['by the signal', 'signal.SIG_DFL'],
    ['by themselves', 'lambda *_: os._exit(1)'],
  ])(
    'and one without a hook is named where torchrun ends the others, %s, and the launcher hears of those first',
    async (_how, handler) => {
      // torchrun waits for rank 0 before it asks how rank 2 ended: the kernel tells of that one all the while.
      const act = `
signal.signal(signal.SIGTERM, (lambda *_: (time.sleep(2), os._exit(1))) if rank == 0 else ${handler})
until('pid.0', 'pid.1', 'pid.2')
os.kill(os.getpid(), signal.SIGKILL) if rank == 1 else time.sleep(600)`;
      const { launcher } = await launch(act, {
        environment: { WITHOUT_HOOK: '1' },
        assignment: { ranks: '0-2', worldSize: 3 },
      });
      await launcher.exited;
      expect(launcher.cause()).toMatchObject({ kind: 'engineFailed', rank: 1, signal: 'SIGKILL' });
    },
  );

  it.each<[string, string, object, boolean]>([
    [
      'that one of them failed, for which torchrun would wait 30 s',
      `until('pid.0', 'pid.1'); sys.exit(3) if rank == 1 else time.sleep(600)`,
      { kind: 'engineFailed', rank: 1, exitCode: 3 },
      false,
    ],
    ['that they are asked to stop', `time.sleep(600)`, { kind: 'stopped', exitCode: 137 }, true],
  ])('are gone although they ignore SIGTERM, once it is known %s', async (_sentence, act, want, isAsked) => {
    const { launcher } = await launch(`signal.signal(signal.SIGTERM, signal.SIG_IGN); ${act}`, {
      environment: { [POD_ENV.gracePeriodSeconds]: '2' },
    });
    await atWork(launcher);
    if (isAsked) launcher.child.kill('SIGTERM');
    await launcher.exited;
    expect(launcher.cause()).toMatchObject(want);
    // torchrun prints this once it has killed its ranks, after its own 30 s: the launcher has killed it and them before.
    expect(launcher.stdout.toString() + launcher.stderr).not.toMatch(/ChildFailedError/);
    expect(['pid.0', 'pid.1'].map((name) => Number(launcher.written(name))).filter(isRunning)).toEqual([]);
  });

  it('save when they are asked to stop, and torchrun, which is not asked, ends with them', async () => {
    const { launcher } = await launch(`time.sleep(600)`);
    await atWork(launcher);
    launcher.child.kill('SIGTERM');
    expect(await launcher.exited).toBe(75);
    expect(launcher.cause()).toMatchObject({ kind: 'stopped', exitCode: 75 });
    expect(launcher.stdout.toString().match(/saved/g)?.length).toBe(2);
  });

  it('end with a launcher that dies, although they have sessions of their own', async () => {
    const { launcher } = await launch(`signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)`);
    await atWork(launcher);
    const pids = ['pid.0', 'pid.1'].map((name) => Number(launcher.written(name)));
    expect(pids.filter(isRunning)).toEqual(pids);
    launcher.child.kill('SIGKILL');
    await waitFor(() => !pids.some(isRunning), { intervalMs: 20, what: 'the end of the ranks' });
  });

  it('begin from a checkpoint with what is added for it, in another incarnation', async () => {
    const { launcher, operator } = await launch(
      `print(sys.argv[1:], os.environ['MASTER_PORT'], flush=True); until('pid.0', 'pid.1', 'go'); sys.exit(0 if sys.argv[1:] else 3)`,
      {
        run: { resumeArgs: ['--from', '$(COXSWAIN_RESUME_ROOT)@$(COXSWAIN_RESUME_STEP)'] },
        assignment: { onFailure: 'wait' },
      },
    );
    await atWork(launcher);
    writeFileSync(launcher.path('go'), '');
    await waitFor(() => operator.ofKind('reaped').length > 0, { intervalMs: 20, what: 'reaped', deadlineMs: 300_000 });
    expect(operator.ofKind('reaped')).toMatchObject([{ cause: { exitCode: 3 } }]);
    mkdirSync(launcher.path('save'));
    const saved = aCheckpointIn(launcher.path('save'));
    const resume = { step: saved.step, path: join('save', saved.directory), manifestSha256: saved.manifestSha256 };
    operator.connections.at(-1)?.send({ kind: 'assignment', assignment: aWholeGang(2, { incarnation: 2, resume }) });
    expect(await launcher.exited).toBe(0);
    const starts = [...launcher.stdout.toString().matchAll(/\] (\[.*\]) (\d+)$/gm)];
    expect(new Set(starts.map(([, args]) => args))).toEqual(
      new Set(['[]', `['--from', '${launcher.path('save')}@${saved.step}']`]),
    );
    expect(new Set(starts.map(([, , port]) => port)).size).toBe(2);
  });
});

/** Rank 3, in the second pod, is killed; ranks of the first see that their peer is gone, and are quick. The other of the second sees nothing. */
const LOSES_PEER = `
shared = os.environ['SHARED']
pathlib.Path(f'{shared}/pid.{rank}').write_text(str(os.getpid()))
until(*(f'{shared}/pid.{one}' for one in range(4)))
if rank == 3:
    pathlib.Path(f'{shared}/gone').write_text('')
    os.kill(os.getpid(), signal.SIGKILL)
if rank == 2:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
until(f'{shared}/gone')
raise RuntimeError('pair.cc:553 Connection closed by peer [127.0.0.1]:1')
`;

describe('several pods under torchrun', () => {
  it('are one gang, and the pod whose rank was killed is the first to say so, although others see it at once', async () => {
    const shared = mkdtempSync(join(tmpdir(), 'torchrun-pods-'));
    disposals.push(() => Promise.resolve(rmSync(shared, { recursive: true, force: true })));
    const operator = await startOperator((podIndex) =>
      aWholeGang(4, { podIndex, podCount: 2, ranks: podIndex === 0 ? '0-1' : '2-3', onFailure: 'wait' }),
    );
    const received: LauncherMessage[] = [];
    operator.behaviour = (message, connection, self) => {
      if (message.kind === 'reaped') received.push(message);
      obliging(message, connection, self);
    };
    for (const index of [0, 1]) {
      const ofPod = { [POD_ENV.podIndex]: String(index), [POD_ENV.podUid]: `pod-${index}` };
      await launchPod(operator, LOSES_PEER, { environment: { ...ofPod, SHARED: shared } });
    }
    await waitFor(() => received.length === 2, { intervalMs: 20, what: 'both pods to tell', deadlineMs: 300_000 });
    // Which of two processes is first depends on the machine. The operator names the rank that was killed in either order: the other cause
    // only shows a lost peer (libs/lifecycle/src/failure/failure.ts).
    const causeOf = (pod: string): TerminationCause | undefined =>
      received.flatMap((message) =>
        message.kind === 'reaped' && message.podUid === pod ? (message.cause ?? []) : [],
      )[0];
    expect(causeOf('pod-1')).toMatchObject({ rank: 3, signal: 'SIGKILL' });
    expect(causeOf('pod-0')).toMatchObject({ exitCode: 1 });
    expect([0, 1].map((index) => lostItsPeer(causeOf(`pod-${index}`)?.lastLines ?? []))).toEqual([true, false]);
    expect(operator.violations).toEqual([]);
  });

  it('are refused where the ranks of a pod do not follow each other, which torchrun cannot give them', async () => {
    const { launcher } = await launch('', { assignment: { ranks: '0,2', worldSize: 4, podCount: 2 } });
    expect(await launcher.exited).toBe(70);
    expect(launcher.cause().message).toMatch(
      /torchrun gives every pod as many ranks, which follow each other, and this one has 0,2 of 4/,
    );
  });
});
