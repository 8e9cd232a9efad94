import { runOffline } from '../testing/run-offline.ts';

const simulate = (...argv: readonly string[]) => runOffline({}, 'simulate', ...argv);
const SMALL = ['--gpus', '1024', '--days', '2', '--seeds', '2', '--failures', 'llama3', '--response', 'llama3'];

describe('coxswain simulate', () => {
  it('says what is effective, where the rest went, and what would help', async () => {
    const { out, code } = await simulate(...SMALL);
    expect(code).toBe(0);
    expect(out).toMatch(/^9\d\.\d\d % effective on 1024 GPUs and \d+ spare nodes in 2 days \(.* of 2 runs\)/);
    for (const words of [
      'held up by saves',
      'HOURS LOST',
      'no spare nodes',
      'the best by Young and Daly',
      'arXiv 2407.21783',
    ])
      expect(out).toContain(words);
  });

  it('prints the same as JSON, whose losses and what is effective are the whole', async () => {
    const { out } = await simulate(...SMALL, '--json');
    const report = JSON.parse(out) as { effective: number; losses: Record<string, number>; question: { gpus: number } };
    const lost = Object.values(report.losses).reduce((sum, share) => sum + share, 0);
    expect(report.effective + lost).toBeCloseTo(1, 6);
    expect(report.question.gpus).toBe(1024);
  });

  it('says the same each time, and something else for another seed', async () => {
    const [one, again, other] = [
      await simulate(...SMALL),
      await simulate(...SMALL),
      await simulate(...SMALL, '--seed', '9'),
    ];
    expect(one.out).toBe(again.out);
    expect(one.out).not.toBe(other.out);
  });

  it.each([
    ['more GPUs than are simulated', ['--gpus', '200000'], '"200000" is not between 8 and 100000 GPUs.'],
    ['half a node', ['--gpus', '1020'], '--gpus 1020 is not a whole number of nodes with 8 GPUs; give 1024.'],
    ['no days', ['--days', '0'], '"0" is not between 1 and 365 days.'],
    ['a fleet that nobody published', ['--failures', 'mine'], 'llama3'],
  ])('refuses %s, and says what to give', async (_what, argv, words) => {
    const { err, code } = await simulate(...argv);
    expect(code).toBe(1);
    expect(err).toContain(words);
  });
});
