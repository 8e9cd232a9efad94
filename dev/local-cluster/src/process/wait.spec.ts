import { GiveUp, waitFor } from './wait.ts';

describe('waitFor', () => {
  it('gives what the condition found', async () => {
    let looks = 0;

    const found = await waitFor(() => ((looks += 1) === 3 ? 'a pod' : undefined), {
      deadlineMs: 5_000,
      intervalMs: 1,
      what: 'a pod',
    });

    expect(found).toBe('a pod');
  });

  it.each([
    ['names what did not come', () => false, /^waited 0.02 s for a pod, in vain$/],
    [
      'tells why the last look failed',
      () => Promise.reject(new Error('refused')),
      /in vain; the last check failed: refused$/,
    ],
  ])('%s', async (_, condition, message) => {
    await expect(waitFor(condition, { deadlineMs: 20, intervalMs: 5, what: 'a pod' })).rejects.toThrow(message);
  });

  it('ends at once when the condition gives up', async () => {
    const condition = (): never => {
      throw new GiveUp('the process is dead');
    };

    await expect(waitFor(condition, { deadlineMs: 60_000, what: 'a pod' })).rejects.toThrow('the process is dead');
  });
});
