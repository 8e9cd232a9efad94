import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PlanAnswer, PlanRequest } from '@coxswain/planner';
import { OverBudgetError } from './planner-errors.ts';
import { PlannerProcess, type AskOptions } from './planner-process.ts';
import { FakeTimers } from './testing/fake-timers.ts';

const program = new URL('./testing/scripted-search.ts', import.meta.url);

const OUT_OF_MEMORY = {
  code: 'OVER_BUDGET',
  message: expect.stringMatching(/memory limit of 32 MiB.*Narrow the question/) as string,
};

let timers: FakeTimers;
let planner: PlannerProcess;

beforeEach(() => {
  timers = new FakeTimers();
  planner = new PlannerProcess({
    program,
    setTimer: timers.set,
    limits: { timeoutMs: 2_000, heapMib: 32, waitingPerTenant: 3, waiting: 5 },
  });
});
afterEach(() => planner.close());

const ask = (model: string, options: Partial<AskOptions> = {}): Promise<PlanAnswer> =>
  planner.ask({ kind: 'plan', request: { model } as PlanRequest }, { tenant: 'research', ...options });

describe('the process in which layouts are searched', () => {
  it('answers each question with its own answer', async () => {
    const answers = await Promise.all([ask('one'), ask('two')]);
    expect(answers.map(({ calibration }) => calibration)).toEqual(['one', 'two']);
    expect(timers.pending).toBe(0);
  });

  it.each([
    [
      'what the planner refuses is refused in its words',
      'refused',
      {
        code: 'INVALID_REQUEST',
        message: 'no such model',
        violations: [{ pointer: '/model', detail: 'no such model' }],
      },
    ],
    [
      'a process that dies says so, and why',
      'throws',
      {
        message: 'the search failed',
        cause: { message: expect.stringMatching(/exited with code 1:[^]*the planner has a defect/) as string },
      },
    ],
    [
      'a process that ends by itself says so',
      'exits',
      { message: 'the search failed', cause: { message: 'the planner process exited with code 0' } },
    ],
    ['a search that fills its heap with small objects is ended', 'eats many small objects', OUT_OF_MEMORY],
    ['a search that fills its heap with huge arrays is ended', 'eats huge arrays', OUT_OF_MEMORY],
    ['a search that wants an array larger than any is ended', 'eats one array larger than any', OUT_OF_MEMORY],
    [
      'a search that takes memory beside its heap is ended by its own watch',
      'eats memory beside the heap',
      { ...OUT_OF_MEMORY, cause: { message: 'the planner process was killed by SIGKILL' } },
    ],
  ])('%s, and who waits behind it is answered', async (_sentence, model, want) => {
    const [failed, behind] = await Promise.allSettled([ask(model), ask('behind'), ask('other', { tenant: 'b' })]);
    expect(failed).toMatchObject({ status: 'rejected', reason: want });
    expect(behind).toMatchObject({ value: { calibration: 'behind' } });
    expect((await ask('next')).calibration).toBe('next');
  });

  it('a search that takes longer than it may is ended, and who waits behind it gets the whole time', async () => {
    await ask('ready');
    const hung = ask('hangs');
    const behind = ask('behind');
    timers.passes(2_000);
    await expect(hung).rejects.toBeInstanceOf(OverBudgetError);
    await expect(hung).rejects.toMatchObject({
      code: 'OVER_BUDGET',
      message: expect.stringMatching(/time limit of 2 s.*Narrow the question/) as string,
    });
    expect((await behind).calibration).toBe('behind');
  });

  it('without a bound of time nothing is timed', async () => {
    await planner.close();
    planner = new PlannerProcess({ program, setTimer: timers.set, limits: { timeoutMs: Infinity, heapMib: Infinity } });
    const answer = ask('one');
    expect(timers.pending).toBe(0);
    expect((await answer).calibration).toBe('one');
  });
});

describe('a question that nobody wants answered any more', () => {
  it('is ended while it is searched, and the next one is answered', async () => {
    const abort = new AbortController();
    const hung = ask('hangs', { signal: abort.signal });
    const behind = ask('behind');
    abort.abort(new Error('no longer wanted'));
    await expect(hung).rejects.toThrow('no longer wanted');
    expect((await behind).calibration).toBe('behind');
  });

  it('leaves the waiting list, and its place to another', async () => {
    const under = new AbortController();
    const abort = new AbortController();
    const hung = ask('hangs', { signal: under.signal });
    const waits = [1, 2, 3].map(() => ask('waits', { signal: abort.signal }));
    await expect(ask('too many')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    abort.abort(new Error('no longer wanted'));
    expect((await Promise.allSettled(waits)).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    const next = ask('next');
    under.abort();
    await expect(hung).rejects.toMatchObject({ name: 'AbortError' });
    expect((await next).calibration).toBe('next');
  });

  it('is not begun where that was known before', async () => {
    await expect(ask('hangs', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect(timers.pending).toBe(0);
  });
});

describe('many questions at once', () => {
  it('one tenant’s many delay another’s one by the search that is under way', async () => {
    const order: string[] = [];
    const noted = async (model: string, tenant: string): Promise<void> => {
      await ask(model, { tenant });
      order.push(model);
    };
    await Promise.all([noted('a1', 'a'), noted('a2', 'a'), noted('a3', 'a'), noted('b1', 'b')]);
    expect(order).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it.each([
    ['a tenant has no more waiting than it may', ['a', 'a', 'a', 'a'], 'a', /your questions/],
    ['and neither have all together', ['a', 'b', 'c', 'd', 'e', 'f'], 'g', /the planner queue is full/],
  ])('%s', async (_sentence, tenants, tenant, want) => {
    const asked = tenants.map((one) => ask('answered', { tenant: one }));
    await expect(ask('one more', { tenant })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(want) as string,
    });
    await Promise.all(asked);
  });
});

describe('a question that cannot be sent to a process', () => {
  it('hurts whoever asked, and nobody else', async () => {
    const request = { model: () => 'a function cannot be copied' } as unknown as PlanRequest;
    const poison = planner.ask({ kind: 'plan', request }, { tenant: 'a' });
    const behind = ask('behind');
    await expect(poison).rejects.toThrow(/could not be cloned/);
    expect((await behind).calibration).toBe('behind');
    expect(timers.pending).toBe(0);
  });
});

describe('a queue that is full', () => {
  it('has room for a tenant with fewer questions: the newest of whoever has most is told why it is not answered', async () => {
    const abort = new AbortController();
    const under = ask('hangs', { tenant: 'a', signal: abort.signal });
    const waits = ['a1', 'a2', 'a3', 'b1', 'b2'].map((one) => ask(one, { tenant: one.charAt(0) }));
    const settled = Promise.allSettled(waits);
    const another = ask('c1', { tenant: 'c' });
    expect(planner.load).toEqual({ waiting: 5, running: 1 });
    await expect(waits[2]).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      reason: 'displaced',
      message: expect.stringMatching(/most questions in it are yours/) as string,
    });
    abort.abort(new Error('no longer wanted'));
    await expect(under).rejects.toThrow('no longer wanted');
    expect((await another).calibration).toBe('c1');
    expect((await settled).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(planner.load).toEqual({ waiting: 0, running: 0 });
  });
});

describe('the time that a search has', () => {
  it('is its own: what a question waited for its turn does not count', async () => {
    const abort = new AbortController();
    const first = ask('hangs', { signal: abort.signal });
    const second = ask('second');
    timers.passes(1_999);
    abort.abort(new Error('no longer wanted'));
    await expect(first).rejects.toThrow('no longer wanted');
    timers.passes(1_999);
    expect((await second).calibration).toBe('second');
  });
});

describe('the start of a process', () => {
  it('is not taken from the time of its first search', async () => {
    const first = ask('first');
    timers.passes(2_000);
    expect((await first).calibration).toBe('first');
  });

  it('that never ends keeps nobody waiting for ever', async () => {
    const first = ask('first');
    timers.passes(60_000);
    await expect(first).rejects.toThrow('did not start within 60 s');
    expect((await ask('next')).calibration).toBe('next');
  });
});

describe('a planner that is closed', () => {
  it('ends what is searched, tells who waits, and answers nobody', async () => {
    const asked = [ask('hangs'), ask('waits'), ask('waits', { tenant: 'b' })];
    const settled = Promise.allSettled(asked);
    await planner.close();
    for (const one of await settled) {
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
    }
    await expect(ask('one')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(timers.pending).toBe(0);
  });

  it('may be closed twice, and before it was asked anything', async () => {
    await planner.close();
    await expect(planner.close()).resolves.toBeUndefined();
  });
});

function setCompileCache(directory: string | undefined): void {
  if (directory === undefined) delete process.env['NODE_COMPILE_CACHE'];
  else process.env['NODE_COMPILE_CACHE'] = directory;
}

describe('a process that searches', () => {
  it.each([
    ['nothing', undefined, []],
    ['only where compiled code is', '/dev/null/compiled', ['NODE_COMPILE_CACHE']],
  ])(
    'knows %s of the environment of its parent, which names databases and their passwords',
    async (_what, directory, known) => {
      const before = process.env['NODE_COMPILE_CACHE'];
      try {
        setCompileCache(directory);
        expect(process.env).toHaveProperty('PATH');
        const { calibration } = await ask('says what it knows of its surroundings');
        expect(JSON.parse(calibration)).toEqual(known);
      } finally {
        setCompileCache(before);
      }
    },
  );

  it('takes nothing with it when it cannot be started, and the next question tries anew', async () => {
    await planner.close();
    const program = new URL('./testing/no-such-program.ts', import.meta.url);
    planner = new PlannerProcess({ program, setTimer: timers.set });
    for (const question of ['one', 'another']) {
      await expect(ask(question)).rejects.toMatchObject({
        message: 'the search failed',
        cause: { message: expect.stringMatching(/Cannot find module/) as string },
      });
    }
  });

  it.each([
    ['while it searches', 'opens and hangs'],
    ['while it waits for a question', 'opens'],
  ])('ends when its parent is killed: %s', async (_sentence, deed) => {
    const folder = mkdtempSync(join(tmpdir(), 'planner-'));
    const path = join(folder, 'held-open');
    execFileSync('mkfifo', [path]);
    const parent = fork(new URL('./testing/asking-parent.ts', import.meta.url), [`${deed}:${path}`], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    const held = createReadStream(path);
    held.once('data', () => parent.kill('SIGKILL'));
    // The kernel closes what a process held open when that has ended.
    await once(held, 'close');
    expect(parent.killed).toBe(true);
    rmSync(folder, { recursive: true });
  });
});
