/**
 * The reference engine under the real launcher, on whatever this machine computes with. The tests of the repository run it on the CPU; on a
 * machine with a GPU the same sentences hold on CUDA: engines/reference/README.md says how to run them there.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { POD_ENV, type RankAssignment, type SavedCheckpoint, type StepReport } from '@coxswain/api-types';
import { findEnginePython, waitFor } from '@coxswain/local-cluster';
import { anAuthority, aWholeGang, FakeOperator } from '../testing/fake-operator.ts';
import { ranksBelow } from '../processes/processes.ts';
import { LauncherProcess } from '../testing/launcher-process.ts';

/** Names a Python with PyTorch for CUDA: the one that set-up makes has PyTorch for the CPU. */
const PYTHON = process.env['COXSWAIN_ENGINE_PYTHON'] ?? findEnginePython();
const ENGINES = join(import.meta.dirname, '../../../../engines');
const STEPS = 12;
const HALFWAY = 6;
/** At most twenty steps a second are told, and a GPU makes more. */
const STEP_DELAY_MS = 60;
/** In nats, fp32: the same process on the same device, before and after a resume. */
const LOSS_TOLERANCE = 1e-5;

const directory = mkdtempSync(join(tmpdir(), 'reference-engine-'));
const disposals: (() => Promise<void>)[] = [];

beforeAll(() => {
  writeFileSync(join(directory, 'text'), 'One boat and many oars that pull one way. '.repeat(500));
});

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Run {
  readonly operator: FakeOperator;
  readonly launcher: LauncherProcess;
}

/** One launcher with one rank that trains, and the operator that it tells. */
async function train(
  name: string,
  flags: Readonly<Record<string, string | number>>,
  more: Pick<RankAssignment, 'resume' | 'onFailure'> & { readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<Run> {
  const operator = await FakeOperator.start(await anAuthority());
  disposals.push(() => operator.stop());
  operator.assignmentOf = () =>
    aWholeGang(1, {
      saveDirectory: name,
      ...(more.resume === undefined ? {} : { resume: more.resume }),
      ...(more.onFailure === undefined ? {} : { onFailure: more.onFailure }),
    });
  mkdirSync(join(directory, name), { recursive: true });
  const all = {
    data: join(directory, 'text'),
    steps: STEPS,
    'step-delay-ms': STEP_DELAY_MS,
    ...flags,
  };
  const launcher = new LauncherProcess({
    engine: [PYTHON, '-m', 'coxswain_reference.train', ...Object.entries(all).flatMap(([k, v]) => [`--${k}`, `${v}`])],
    environment: {
      PYTHONPATH: [join(ENGINES, 'reference'), join(ENGINES, 'agent')].join(delimiter),
      [POD_ENV.checkpointMount]: directory,
      ...more.environment,
    },
    operators: { urls: [operator.url], ca: (await anAuthority()).certPem },
  });
  disposals.push(() => launcher.dispose());
  return { operator, launcher };
}

function steps({ operator }: Run): readonly StepReport[] {
  return operator.ofKind('step').map(({ report }) => report);
}

function losses(run: Run): ReadonlyMap<number, number> {
  return new Map(steps(run).flatMap(({ step, loss }) => (loss === null ? [] : [[step, loss] as const])));
}

async function exitOf(run: Run): Promise<number> {
  const code = await run.launcher.exited;
  process.stdout.write(`${run.launcher.stdout.toString()}${run.launcher.stderr}`);
  return code;
}

describe('the reference engine under the launcher', () => {
  let undisturbed: ReadonlyMap<number, number>;
  let halfway: SavedCheckpoint;

  it('trains to its end: beats, steps and a checkpoint are told, and the state is saved', async () => {
    const run = await train('undisturbed', { 'save-every': HALFWAY });
    expect(await exitOf(run)).toBe(0);
    undisturbed = losses(run);
    expect([...undisturbed.keys()]).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
    expect(run.operator.ofKind('heartbeat').length).toBeGreaterThan(0);
    const saved = run.operator.ofKind('checkpointSaved').map(({ checkpoint }) => checkpoint);
    expect(saved.map(({ step }) => step)).toEqual([HALFWAY, STEPS]);
    halfway = saved[0] as SavedCheckpoint;
    expect(run.launcher.cause()).toMatchObject({ kind: 'finished' });
    expect(run.operator.violations).toEqual([]);
  });

  it('goes on from a checkpoint with the losses of the run that nothing disturbed', async () => {
    const run = await train(
      'resumed',
      {},
      {
        resume: { step: HALFWAY, path: join('undisturbed', halfway.directory), manifestSha256: halfway.manifestSha256 },
      },
    );
    expect(await exitOf(run)).toBe(0);
    expect(run.operator.ofKind('resumed').map(({ step }) => step)).toEqual([HALFWAY]);
    const seen = [...losses(run)];
    expect(seen.map(([step]) => step)).toEqual([7, 8, 9, 10, 11, 12]);
    const worst = Math.max(...seen.map(([step, loss]) => Math.abs(loss - (undisturbed.get(step) ?? Number.NaN))));
    process.stdout.write(`largest difference of loss after the resume: ${worst}\n`);
    expect(worst).toBeLessThanOrEqual(LOSS_TOLERANCE);
  });

  it('saves its state when it is asked to stop', async () => {
    const run = await train('stopped', { steps: 1_000_000 });
    await waitFor(() => steps(run).length >= 3, { what: 'three steps', deadlineMs: 300_000 });
    run.launcher.child.kill('SIGTERM');
    expect(await exitOf(run)).toBe(75);
    const [saved] = run.operator.ofKind('checkpointSaved');
    expect(saved?.checkpoint.step).toBe(Math.max(...steps(run).map(({ step }) => step)));
    expect(run.launcher.cause()).toMatchObject({ kind: 'stopped', unreportedCheckpoints: [] });
  });

  it('saves once for what the operator asks before a save is due, however often it is said, and trains on', async () => {
    const run = await train('asked', { steps: 1_000_000 });
    await waitFor(() => steps(run).length >= 3, { what: 'three steps', deadlineMs: 300_000 });
    const wanted = { kind: 'saveWanted', epoch: 1, incarnation: 1, request: 1, why: 'A node is suspect.' } as const;
    const [connection] = run.operator.connections;
    connection?.send({ ...wanted, incarnation: 2, request: 9 });
    for (let time = 0; time < 3; time += 1) connection?.send(wanted);
    const saves = (): readonly number[] =>
      run.operator.ofKind('checkpointSaved').map(({ checkpoint: { step } }) => step);
    await waitFor(() => saves().length > 0, { what: 'a checkpoint', deadlineMs: 300_000 });
    const [saved = 0] = saves();
    await waitFor(() => (steps(run).at(-1)?.step ?? 0) >= saved + 3, { what: 'steps beyond it', deadlineMs: 300_000 });
    expect(saves()).toEqual([saved]);
    run.launcher.child.kill('SIGTERM');
    expect(await exitOf(run)).toBe(75);
    expect(run.launcher.stderr).toMatch(
      /asks for a save before the next one is due: A node is suspect\. Rank 0 was asked/,
    );
    expect(run.operator.violations).toEqual([]);
  });

  it('is reported as killed, with the rank and the signal, and goes on bit for bit in a process that had imported PyTorch', async () => {
    const goesOn = join(directory, 'goes-on');
    const run = await train(
      'killed',
      // It waits after its first step, until it is killed.
      { 'step-delay-ms': 3_600_000, 'step-delay-until': goesOn },
      { environment: { [POD_ENV.preloadPyTorch]: 'WhenPossible' }, onFailure: 'wait' },
    );
    await waitFor(() => run.launcher.stderr.includes('Successors of ranks 0 have imported PyTorch and wait'), {
      what: 'the successor',
      deadlineMs: 300_000,
    });
    process.kill(ranksBelow(run.launcher.child.pid ?? 0).get(0) ?? 0, 'SIGKILL');
    await waitFor(() => run.operator.ofKind('reaped').length > 0, { what: 'the end of the rank' });
    expect(run.launcher.cause()).toMatchObject({ kind: 'engineFailed', rank: 0, exitCode: 137 });
    expect(run.launcher.cause().message).toMatch(/rank 0 .* was killed by SIGKILL/);
    expect(run.launcher.cause().lastLines.at(-1)).toMatch(/^step 1\/12/);
    writeFileSync(goesOn, '');
    const { directory: saved, manifestSha256 } = halfway;
    const resume = { step: HALFWAY, path: join('undisturbed', saved), manifestSha256 };
    const assignment = aWholeGang(1, { incarnation: 2, saveDirectory: 'killed/2', resume });
    run.operator.connections.at(-1)?.send({ kind: 'assignment', assignment });
    expect(await exitOf(run)).toBe(0);
    expect(run.launcher.stderr).toContain('Rank 0: a successor that has imported PyTorch takes over.');
    expect([...losses(run)].slice(1)).toEqual([...undisturbed].slice(HALFWAY));
    expect(run.operator.violations).toEqual([]);
  });
});
