import { SilentRanks, type SilenceOptions } from './silent-ranks.ts';

const SOON = 1;
const NEVER = 3_600_000;

function watching(more: Partial<SilenceOptions> = {}): {
  readonly silent: SilentRanks;
  readonly logged: Promise<string>;
} {
  const { promise, resolve } = Promise.withResolvers<string>();
  const silent = new SilentRanks({
    silentRanks: () => [1, 2],
    logLine: resolve,
    afterStepMs: NEVER,
    afterStartMs: NEVER,
    ...more,
  });
  return { silent, logged: promise };
}

describe('that no hook speaks for a rank is said', () => {
  it.each<[string, Partial<SilenceOptions>, (silent: SilentRanks) => void]>([
    ['a moment after the engine has printed of a step', { afterStepMs: SOON }, (silent) => silent.stepPrinted()],
    ['a while after the start, where nothing is printed', { afterStartMs: SOON }, () => undefined],
    ['at the end, where it was not said before', {}, (silent) => silent.end()],
  ])('%s', async (_sentence, more, act) => {
    const { silent, logged } = watching(more);
    act(silent);
    // It does not keep the launcher alive.
    const alive = setInterval(() => undefined, NEVER);
    expect(await logged).toMatch(/^No hook has connected for ranks 1-2: python -I or -S/);
    clearInterval(alive);
  });

  it('once, and not of ranks that have spoken meanwhile', () => {
    const logged: string[] = [];
    let ranks: readonly number[] = [];
    const { silent } = watching({ silentRanks: () => ranks, logLine: (sentence) => logged.push(sentence) });
    silent.end();
    expect(logged).toEqual([]);
    ranks = [3];
    silent.end();
    silent.end();
    expect(logged).toHaveLength(1);
  });
});
