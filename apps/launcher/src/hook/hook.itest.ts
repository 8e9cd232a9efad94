/** The hook beside programs that know nothing of us, under the real launcher, with PyTorch. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { POD_ENV, type PodStacks } from '@coxswain/api-types';
import { findEnginePython, waitFor } from '@coxswain/local-cluster';
import { anAuthority, aWholeGang, FakeOperator, obliging } from '../testing/fake-operator.ts';
import { LauncherProcess } from '../testing/launcher-process.ts';

const PYTHON = findEnginePython();
const STEPS = 6;
const TRAIN = `
import os, time, torch
torch.distributed.init_process_group('gloo')
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8, bias=False))
optimizer = torch.optim.AdamW(model.parameters())
def appears(file):
    while not os.path.exists(file):
        time.sleep(0.05)
for step in range(1, ${STEPS} + 1):
    if step == ${STEPS}:
        appears(os.environ['LED_AGAIN'])
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    time.sleep(0.1)
def forgets_the_barrier():
    appears(os.environ['BARRIER_REMEMBERED'])
if torch.distributed.get_rank() == 1:
    forgets_the_barrier()
torch.distributed.barrier()
torch.distributed.destroy_process_group()
`;

const directory = mkdtempSync(join(tmpdir(), 'hook-'));
const program = join(directory, 'train.py');
const disposals: (() => Promise<void>)[] = [];

beforeAll(() => writeFileSync(program, TRAIN));

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const WANTED = { kind: 'stacksWanted', maxBytes: 65_536 } as const;
const firstThreads = ({ groups }: PodStacks): readonly (readonly [string, readonly string[]])[] =>
  groups.filter(({ isMain }) => isMain).map(({ ranks, frames }) => [ranks, frames]);
const isIn = (stacks: PodStacks, ranks: string, name: string): boolean =>
  firstThreads(stacks).some(([of, frames]) => of === ranks && frames.some((frame) => frame.startsWith(`${name} (`)));
/** One waits for the other, which is elsewhere. */
const areThere = (stacks: PodStacks): boolean =>
  isIn(stacks, '0', 'barrier') && isIn(stacks, '1', 'forgets_the_barrier');

/** Lets the last step be made once the second leader listens: what is on the way to one that dies is told to nobody. */
async function untilLedAgain(operator: FakeOperator, ledAgain: string): Promise<void> {
  const isLed = () => operator.connections.length > 1 && operator.ofKind('trained').length > 1;
  await waitFor(isLed, { what: 'the second leader to hear what is trained', deadlineMs: 300_000, intervalMs: 50 });
  writeFileSync(ledAgain, '');
}

/** Asks until each is where it stays, and lets them go on. */
async function untilTheyStand(operator: FakeOperator, remembered: string): Promise<void> {
  let request = 0;
  const ask = (): boolean => {
    request += 1;
    operator.connections.at(-1)?.send({ ...WANTED, request });
    return operator.ofKind('stacks').some(({ stacks }) => areThere(stacks));
  };
  await waitFor(ask, { what: 'one rank to wait for the other', deadlineMs: 300_000, intervalMs: 200 });
  writeFileSync(remembered, '');
}

/** Two ranks of one pod, and the operator that hears of them. */
async function train(
  engine: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  meanwhile: (operator: FakeOperator) => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly operator: FakeOperator; readonly launcher: LauncherProcess }> {
  let isFirst = true;
  const operator = await FakeOperator.start(await anAuthority(), (message, connection, self) => {
    // The first leader dies when it has heard what is trained: the next one has not.
    if (message.kind === 'trained' && isFirst) {
      isFirst = false;
      return connection.close();
    }
    return obliging(message, connection, self);
  });
  disposals.push(() => operator.stop());
  operator.assignmentOf = () => aWholeGang(2);
  const launcher = new LauncherProcess({
    engine,
    environment: { OMP_NUM_THREADS: '1', ...environment },
    operators: { urls: [operator.url], ca: (await anAuthority()).certPem },
  });
  disposals.push(() => launcher.dispose());
  await meanwhile(operator);
  expect(await launcher.exited).toBe(0);
  return { operator, launcher };
}

const torchrun = ['-m', 'torch.distributed.run', '--nnodes=1', '--nproc-per-node=2', '--max-restarts=0'];
const meeting = ['--master-addr=$(MASTER_ADDR)', '--master-port=$(MASTER_PORT)'];

describe('a program that knows nothing of the launcher', () => {
  it.each<[string, readonly string[], Readonly<Record<string, string>>]>([
    ['started by it', [PYTHON, program], {}],
    [
      'started by torchrun',
      [PYTHON, ...torchrun, ...meeting, program],
      { [POD_ENV.engineRun]: JSON.stringify({ startedBy: 'torchrun' }) },
    ],
  ])(
    '%s is seen in its steps, in what it really trains, and in what each rank is in the middle of, also by who leads next',
    async (_, engine, environment) => {
      const own = mkdtempSync(join(directory, 'case-'));
      const files = { LED_AGAIN: join(own, 'led-again'), BARRIER_REMEMBERED: join(own, 'remembered') };
      const { operator, launcher } = await train(engine, { ...environment, ...files }, async (reported) => {
        await untilLedAgain(reported, files.LED_AGAIN);
        await untilTheyStand(reported, files.BARRIER_REMEMBERED);
      });
      const trained = operator.ofKind('trained');
      expect(trained.length).toBeGreaterThan(1);
      for (const { facts } of trained) {
        expect(facts).toMatchObject({
          worldSize: 2,
          backend: 'gloo',
          wrappers: ['torch.nn.parallel.distributed.DistributedDataParallel'],
          parameters: 64,
          optimizedParameters: 64,
        });
      }
      const steps = operator.ofKind('step').map(({ report }) => report);
      expect(steps.at(-1)).toMatchObject({ step: STEPS, loss: null, ranks: [{ rank: 0 }, { rank: 1 }] });
      const stacks = operator.ofKind('stacks').find((reported) => areThere(reported.stacks))?.stacks;
      const [waits, forgets] = stacks === undefined ? [] : firstThreads(stacks);
      expect(waits).toEqual(['0', expect.arrayContaining([expect.stringMatching(/^barrier \(torch\/distributed\//)])]);
      expect(forgets).toEqual([
        '1',
        expect.arrayContaining([expect.stringMatching(/^forgets_the_barrier \(.*train\.py:/)]),
      ]);
      expect(stacks?.silent).toEqual([]);
      expect(launcher.stderr).not.toMatch(/No hook/);
      expect(launcher.stderr).not.toMatch(/were no facts|were of no rank/);
      expect(operator.violations).toEqual([]);
    },
  );

  it.each([['-I'], ['-S']])('under python %s is not seen, and the log says so', async (flag) => {
    const { operator, launcher } = await train([PYTHON, flag, '-c', 'pass']);
    expect(operator.ofKind('trained')).toEqual([]);
    expect(launcher.stderr).toMatch(/No hook has connected for ranks 0-1: python -I or -S/);
  });
});
