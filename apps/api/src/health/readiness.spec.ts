import { kubernetesVersionCheck, Readiness } from './readiness.ts';

const aVersion = (minor: string) => ({ major: '1', minor, gitVersion: `v1.${minor}.0` });

describe('the API is ready', () => {
  it('until a check says what is missing', async () => {
    const readiness = new Readiness();
    expect(await readiness.missing()).toEqual([]);
    readiness.add({ name: 'database', check: () => 'does not answer' });
    expect(await readiness.missing()).toEqual(['database: does not answer']);
  });

  it('on a cluster that is new enough, and on one that does not answer', async () => {
    expect(await kubernetesVersionCheck({ version: () => Promise.resolve(aVersion('37')) }).check()).toBeUndefined();
    expect(await kubernetesVersionCheck({ version: () => Promise.reject(new Error('away')) }).check()).toBeUndefined();
  });

  it('not on a cluster that is too old, and says which version it needs', async () => {
    expect(await kubernetesVersionCheck({ version: () => Promise.resolve(aVersion('30')) }).check()).toMatch(
      /1\.30.*1\.31/,
    );
  });

  it('and asks for the version again until it was told once', async () => {
    let asked = 0;
    const check = kubernetesVersionCheck({
      version: () => (++asked === 1 ? Promise.reject(new Error('away')) : Promise.resolve(aVersion('30'))),
    });
    expect([await check.check(), typeof (await check.check()), typeof (await check.check())]).toEqual([
      undefined,
      'string',
      'string',
    ]);
    expect(asked).toBe(2);
  });
});
