import { requirements as requirementsOfPlantedBugs } from '../campaigns/planted-bugs.ts';
import { requirements as requirementsOfProperties } from '../campaigns/properties.ts';
import { startCampaign, type Campaign } from './start-campaign.ts';

function start(requirements: Campaign['requirements']): { outcome: Promise<boolean>; calls: string[] } {
  const calls: string[] = [];
  const record = <T>(call: string, result: T) => (calls.push(call), Promise.resolve(result));
  const campaign = {
    description: 'A campaign.',
    ...(requirements && { requirements }),
    run: (args: readonly string[]) => record(`run ${args.join(' ')}`, true),
  };
  return { outcome: startCampaign(campaign, ['--fast'], () => record('set up', undefined)), calls };
}

describe('a campaign', () => {
  it('that the machine does not allow is refused before anything is built', async () => {
    const { outcome, calls } = start(() => 'it needs root');
    await expect(outcome).rejects.toThrow('the campaign cannot run here: it needs root');
    expect(calls).toEqual([]);
  });

  it('whose arguments are wrong is refused before anything is built', async () => {
    const { outcome, calls } = start(() => {
      throw new Error('--hold is a number of seconds, not "long"');
    });
    await expect(outcome).rejects.toThrow('--hold is a number of seconds');
    expect(calls).toEqual([]);
  });

  it.each([
    ['that the machine allows', () => undefined],
    ['that requires nothing', undefined],
  ])('%s runs with its arguments after set-up', async (_sentence, requirements) => {
    const { outcome, calls } = start(requirements);
    expect(await outcome).toBe(true);
    expect(calls).toEqual(['set up', 'run --fast']);
  });
});

describe('arguments are read before set-up', () => {
  it.each([
    [
      'minutes that are no number',
      () => requirementsOfProperties(['soon']),
      'the first argument is a number of minutes',
    ],
    ['a seed that is no number', () => requirementsOfProperties(['1', 'chance']), 'chance'],
    ['a class of bugs that is not planted', () => requirementsOfPlantedBugs(['C99']), 'there is no class C99'],
  ])('%s', (_sentence, ask, words) => {
    expect(ask).toThrow(words);
  });
});
