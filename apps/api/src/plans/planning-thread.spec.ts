import type { PlanAnswer, PlanRequest } from '@coxswain/planner/types';
import { PlanningThread } from './planning-thread.ts';

const worker = new URL('../testing/scripted-plan-worker.ts', import.meta.url);
const limits = { timeoutMs: 2_000, waiting: 1 };
let thread: PlanningThread;

beforeEach(() => {
  thread = new PlanningThread({ worker, limits });
});
afterEach(() => thread.close());

const ask = (model: string): Promise<PlanAnswer> => thread.plan({ model } as PlanRequest);

describe('the thread in which layouts are searched', () => {
  it('answers each request with its own answer', async () => {
    const answers = await Promise.all([ask('one'), ask('two')]);
    expect(answers.map(({ calibration }) => calibration)).toEqual(['one', 'two']);
  });

  it.each([
    [
      'what the planner refuses is refused in its words',
      'refused',
      { code: 'INVALID_REQUEST', message: 'no such model' },
    ],
    [
      'a search that takes too long is ended',
      'hangs',
      { code: 'UNAVAILABLE', message: expect.stringMatching(/longer than 2 s/) as string },
    ],
    ['a thread that dies says so', 'dies', { message: 'the search failed' }],
  ])('%s, and the next request is answered', async (_sentence, model, want) => {
    await expect(ask(model)).rejects.toMatchObject(want);
    expect((await ask('next')).calibration).toBe('next');
  });

  it('lets no more wait than it may', async () => {
    const waiting = [ask('one'), ask('two')];
    await expect(ask('three')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await Promise.all(waiting);
  });

  it('that is closed answers nobody', async () => {
    const underWay = ask('hangs');
    await thread.close();
    await expect(underWay).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(ask('one')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
