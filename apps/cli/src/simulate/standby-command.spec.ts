import { runOffline } from '../testing/run-offline.ts';

const standbys = (...argv: readonly string[]) => runOffline({}, 'simulate', 'standbys', ...argv);

describe('coxswain simulate standbys', () => {
  it('says how many are enough, and how many faults would find one', async () => {
    const { out, code } = await standbys('--nodes', '1024', '--refill-hours', '4');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^4 standby nodes for 1024 nodes: then at most 1 % of the faults find none\. 3\.88 faults a day/,
    );
    expect(out).toMatch(
      /STANDBYS +ERLANG B +REFILLED AT ONCE +REFILLED BY ATTEMPTS\n0 +0\.0 % +0\.0 % +0\.0 %\n2 +88\.7 %/,
    );
    expect(out).toContain('arXiv 2407.21783');
  });

  it('takes rates and seed of the command above, and prints JSON', async () => {
    const { out } = await standbys('--nodes', '128', '--failures', 'byterobust', '--seed', '7', '--json');
    expect(JSON.parse(out)).toMatchObject({
      question: { nodes: 128, refillHours: 24, failures: 'byterobust', seed: 7 },
      rows: [{ standbys: 0 }, {}, {}, {}],
    });
  });

  it.each([
    ['no nodes', ['--nodes', '0'], '"0" is not a number from 1 to 100000.'],
    ['10^9 nodes', ['--nodes', '1000000000'], '"1000000000" is not a number from 1 to 100000.'],
    ['a refill that takes no time', ['--nodes', '8', '--refill-hours', '0'], '"0" is not a number from 0.1 to 1000.'],
    ['no number of nodes', [], '--nodes'],
  ])('refuses %s, and says what to give', async (_what, argv, words) => {
    const { err, code } = await standbys(...argv);
    expect(code).toBe(1);
    expect(err).toContain(words);
  });
});
