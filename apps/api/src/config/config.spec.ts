import { readConfig } from './config.ts';

const least = { DATABASE_URL: 'postgresql://coxswain@127.0.0.1/coxswain' };

describe('the configuration', () => {
  it('needs only the database', () => {
    expect(readConfig(least)).toMatchObject({ role: 'all', listen: { host: '127.0.0.1', port: 8080 } });
  });

  it('takes an empty variable for an absent one', () => {
    expect(readConfig({ ...least, COXSWAIN_KUBECONFIG: '' }).kubeconfigPath).toBeUndefined();
  });

  it('reads every operator address', () => {
    const { operator } = readConfig({ ...least, COXSWAIN_OPERATOR_SERIES_URLS: 'https://a:9443/, https://b:9443' });
    expect(operator.seriesUrls).toEqual(['https://a:9443', 'https://b:9443']);
  });

  it('cannot be changed after it was read', () => {
    const config = readConfig(least) as { listen: { port: number } };
    expect(() => {
      config.listen.port = 1;
    }).toThrow(TypeError);
  });

  it.each([
    ['no database', { DATABASE_URL: undefined }, /set DATABASE_URL/],
    ['a database of another kind', { DATABASE_URL: 'mysql://x' }, /DATABASE_URL.*postgresql/],
    ['a port that is none', { COXSWAIN_LISTEN_PORT: '99999' }, /COXSWAIN_LISTEN_PORT/],
    ['tokens that never end by themselves', { COXSWAIN_TOKEN_LIFETIME_DAYS: '0' }, /COXSWAIN_TOKEN_LIFETIME_DAYS/],
    ['a role that is none', { COXSWAIN_ROLE: 'king' }, /COXSWAIN_ROLE/],
    ['an operator without TLS', { COXSWAIN_OPERATOR_SERIES_URLS: 'http://a' }, /COXSWAIN_OPERATOR_SERIES_URLS.*https/],
  ])('refuses %s and says which variable and why', (_what, change, want) => {
    expect(() => readConfig({ ...least, ...change })).toThrow(want);
  });

  it('never repeats a value: it may be a password', () => {
    expect(() => readConfig({ DATABASE_URL: 'mysql://root:hunter2@x' })).not.toThrow(/hunter2/);
    expect(() => readConfig({ DATABASE_URL: 'mysql://root:hunter2@x' })).toThrow();
  });
});
