/** PyTorch's own torchrun under the launcher: the ranks are scripts without PyTorch, so that what takes time is torchrun alone. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { POD_ENV, type EngineRun, type RankAssignment } from '@coxswain/api-types';
import { findEnginePython, waitFor } from '@coxswain/local-cluster';
import { aCheckpointIn } from './testing/a-checkpoint.ts';
import { anAuthority, aWholeGang, FakeOperator } from './testing/fake-operator.ts';
import { isRunning, LauncherProcess } from './testing/launcher-process.ts';

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
const AGENT = join(import.meta.dirname, '../../../engines/agent');
/** A rank that says who it is and where it was told to meet, tells a step, and then does what its test says. */
const RANK = `
import os, pathlib, signal, sys, time
from coxswain_agent import Reporter
rank = int(os.environ['RANK'])
reporter = Reporter.from_environment()
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
  more: { readonly run?: Partial<EngineRun>; readonly assignment?: Partial<RankAssignment> } = {},
): Promise<{ readonly launcher: LauncherProcess; readonly operator: FakeOperator }> {
  const operator = await FakeOperator.start(await anAuthority());
  operator.assignmentOf = () => aWholeGang(2, more.assignment);
  const run = { startedBy: 'torchrun', files: [{ path: 'lib/rank.py', text: RANK + act }], ...more.run };
  const launcher = new LauncherProcess({
    engine: [...TORCHRUN, PYTHON, '$(COXSWAIN_ENGINE_FILES)/lib/rank.py'],
    operators: { urls: [operator.url], ca: (await anAuthority()).certPem },
    environment: { PYTHONPATH: AGENT, [POD_ENV.engineRun]: JSON.stringify(run) },
  });
  disposals.push(
    () => launcher.dispose(),
    () => operator.stop(),
  );
  return { launcher, operator };
}

function atWork(launcher: LauncherProcess): Promise<unknown> {
  return waitFor(() => launcher.written('pid.0') !== undefined && launcher.written('pid.1') !== undefined, {
    intervalMs: 20,
    what: 'both ranks',
    deadlineMs: 120_000,
  });
}

describe('ranks that torchrun starts', () => {
  it('tell facts as the ranks that they are, and finish', async () => {
    const { launcher, operator } = await launch(`until('pid.0', 'pid.1')`);
    expect(await launcher.exited).toBe(0);
    expect(launcher.cause()).toMatchObject({ kind: 'finished', lastStep: 1 });
    expect(operator.ofKind('step')).toMatchObject([{ report: { loss: 2.5, ranks: [{ rank: 0 }, { rank: 1 }] } }]);
    expect(launcher.stdout.toString()).toMatch(/\[ranks 0-1\] rank 1 of 2 is at work/);
    expect(operator.violations).toEqual([]);
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
    await waitFor(() => operator.ofKind('reaped').length > 0, { intervalMs: 20, what: 'reaped', deadlineMs: 60_000 });
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
