import { SharedFixture, usersVariable } from './shared-fixture.ts';

describe('a fixture that test files share', () => {
  let events: string[];
  const variable = usersVariable('thing');
  const fixture = (start = (): Promise<string> => Promise.resolve('thing')): SharedFixture<string> =>
    new SharedFixture({
      name: 'thing',
      start: () => {
        events.push('start');
        return start();
      },
      stop: () => {
        events.push('stop');
        return Promise.resolve();
      },
    });

  beforeEach(() => (events = []));
  afterEach(() => delete process.env[variable]);

  it('is started for the first and stopped after the last', async () => {
    process.env[variable] = '2';
    const shared = fixture();
    await shared.take();
    await shared.release();
    await shared.take();
    expect(events).toEqual(['start']);
    await shared.release();
    expect(events).toEqual(['start', 'stop']);
  });

  it('is one for each file where nobody counted them', async () => {
    const shared = fixture();
    await shared.take();
    await shared.release();
    await shared.take();
    expect(events).toEqual(['start', 'stop', 'start']);
  });

  it('is started again for the next file when it did not start', async () => {
    process.env[variable] = '2';
    const outcomes = [(): Promise<string> => Promise.reject(new Error('no port')), () => Promise.resolve('thing')];
    const shared = fixture(() => (outcomes.shift() ?? ((): Promise<string> => Promise.resolve('late')))());
    await expect(shared.take()).rejects.toThrow('no port');
    await shared.release();
    expect(await shared.take()).toBe('thing');
    await shared.release();
    expect(events).toEqual(['start', 'start', 'stop']);
  });
});
