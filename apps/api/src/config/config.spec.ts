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

  it('confines the API to the namespaces of its list, each once', () => {
    expect(readConfig(least).namespaces.confinedTo).toEqual([]);
    const { namespaces } = readConfig({ ...least, COXSWAIN_API_NAMESPACES: 'research, vision,research' });
    expect(namespaces.confinedTo).toEqual(['research', 'vision']);
  });

  it('has no sign-in without an issuer, and with one the least that it needs', () => {
    expect(readConfig(least).signIn).toBeUndefined();
    const signIn = {
      COXSWAIN_OIDC_ISSUER_URL: 'http://127.0.0.1:5556/dex',
      COXSWAIN_OIDC_CLIENT_ID: 'coxswain',
      COXSWAIN_PUBLIC_URL: 'https://coxswain.example.com/',
    };
    expect(readConfig({ ...least, ...signIn }).signIn).toMatchObject({
      publicUrl: 'https://coxswain.example.com',
      cliClientId: 'coxswain',
      groupsClaim: 'groups',
      adminGroup: undefined,
    });
  });

  it('reads links to other systems', () => {
    expect(readConfig(least).links).toEqual({ logLink: undefined, jobLinks: [] });
    const jobLinks = [{ title: 'TensorBoard', template: 'https://tb.example.com/{uid}' }];
    expect(readConfig({ ...least, COXSWAIN_JOB_LINKS: JSON.stringify(jobLinks) }).links.jobLinks).toEqual(jobLinks);
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
    ['a pattern of namespaces that the API may use', { COXSWAIN_API_NAMESPACES: 'team-*' }, /COXSWAIN_API_NAMESPACES/],
    ['links that are no JSON', { COXSWAIN_JOB_LINKS: 'tensorboard' }, /COXSWAIN_JOB_LINKS.*must be JSON/],
    ['an audit of a day', { COXSWAIN_AUDIT_RETENTION_DAYS: '1' }, /COXSWAIN_AUDIT_RETENTION_DAYS/],
    [
      'proxies by name',
      { COXSWAIN_TRUSTED_PROXIES: '10.0.0.0/8, proxy' },
      /COXSWAIN_TRUSTED_PROXIES.*must be addresses/,
    ],
    ['tokens that never end by themselves', { COXSWAIN_TOKEN_LIFETIME_DAYS: '0' }, /COXSWAIN_TOKEN_LIFETIME_DAYS/],
    [
      'levels that go before the steps that they are made of',
      { COXSWAIN_SERIES_STEPS_DAYS: '30', COXSWAIN_SERIES_LEVELS_DAYS: '7' },
      /COXSWAIN_SERIES_LEVELS_DAYS.*not be less/,
    ],
    [
      'levels that go before steps that stay for ever',
      { COXSWAIN_SERIES_STEPS_DAYS: '0' },
      /COXSWAIN_SERIES_LEVELS_DAYS.*not be less/,
    ],
    ['streams of which nobody need read anything', { COXSWAIN_STREAM_UNREAD_KIB: '0' }, /COXSWAIN_STREAM_UNREAD_KIB/],
    ['a role that is none', { COXSWAIN_ROLE: 'king' }, /COXSWAIN_ROLE/],
    [
      'an issuer without TLS',
      { COXSWAIN_OIDC_ISSUER_URL: 'http://accounts.example.com' },
      /COXSWAIN_OIDC_ISSUER_URL.*https:.*loopback/,
    ],
    [
      'an issuer alone',
      { COXSWAIN_OIDC_ISSUER_URL: 'https://accounts.example.com' },
      /COXSWAIN_OIDC_CLIENT_ID and COXSWAIN_PUBLIC_URL/,
    ],
    ['a session without an end', { COXSWAIN_SESSION_HOURS: '0' }, /COXSWAIN_SESSION_HOURS/],
    ['an operator without TLS', { COXSWAIN_OPERATOR_SERIES_URLS: 'http://a' }, /COXSWAIN_OPERATOR_SERIES_URLS.*https/],
  ])('refuses %s and says which variable and why', (_what, change, want) => {
    expect(() => readConfig({ ...least, ...change })).toThrow(want);
  });

  it('never repeats a value: it may be a password', () => {
    expect(() => readConfig({ DATABASE_URL: 'mysql://root:hunter2@x' })).not.toThrow(/hunter2/);
    expect(() => readConfig({ DATABASE_URL: 'mysql://root:hunter2@x' })).toThrow();
  });
});

describe('the URLs of the database', () => {
  const [runtime, system] = ['postgresql://runtime@db/coxswain', 'postgresql://system@db/coxswain'];
  const urls = (environment: Readonly<Record<string, string>>) => readConfig(environment).databaseUrls;

  it.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>]>([
    [
      'are one for each role',
      { COXSWAIN_SYSTEM_DATABASE_URL: system },
      { runtime, system, queue: runtime, migrator: runtime },
    ],
    [
      'are one and the same where others are not given',
      {},
      { runtime, system: runtime, queue: runtime, migrator: runtime },
    ],
    [
      'are one and the same where one role is asked for, whatever else the Secret holds',
      { COXSWAIN_SYSTEM_DATABASE_URL: system, COXSWAIN_DATABASE_SINGLE_ROLE: 'true' },
      { runtime, system: runtime, queue: runtime, migrator: runtime },
    ],
    [
      'may lie in files that are not there, as in the Secret of an installation with one URL',
      { COXSWAIN_SYSTEM_DATABASE_URL_FILE: '/nonexistent/system-url' },
      { runtime, system: runtime, queue: runtime, migrator: runtime },
    ],
  ])('%s', (_sentence, environment, want) => {
    expect(urls({ DATABASE_URL: runtime, ...environment })).toEqual(want);
  });
});
