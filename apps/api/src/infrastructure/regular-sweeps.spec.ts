import type { Logger } from '@coxswain/telemetry';
import { sweepRegularly } from './regular-sweeps.ts';

/** Sweeps whose answers are given; the last one stops them. */
async function sweeping(
  answers: readonly (boolean | Error)[],
): Promise<{ sweeps: number; warned: readonly unknown[] }> {
  const stop = new AbortController();
  const warned: unknown[] = [];
  let sweeps = 0;
  const sweep = async (): Promise<boolean> => {
    const answer = answers[sweeps++] ?? false;
    if (sweeps === answers.length) stop.abort();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const logger = { warn: (...entry: unknown[]) => warned.push(entry) } as unknown as Logger;
  await sweepRegularly({ everyMs: 1, sweep, logger, failed: 'nothing was removed' }, stop.signal);
  return { sweeps, warned };
}

describe('regular sweeps', () => {
  it.each<[string, readonly (boolean | Error)[]]>([
    ['go on at once while more is left', [true, true, false]],
    ['come again when nothing is left', [false, false]],
    ['end in the middle when the process does', [true]],
  ])('%s', async (_sentence, answers) => {
    expect(await sweeping(answers)).toEqual({ sweeps: answers.length, warned: [] });
  });

  it('come again after one that failed, and say why it did', async () => {
    const reason = 'the database is away';
    expect(await sweeping([new Error(reason), false])).toEqual({
      sweeps: 2,
      warned: [[{ reason }, 'nothing was removed']],
    });
  });
});
