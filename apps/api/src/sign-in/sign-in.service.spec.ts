import { DomainError } from '@coxswain/domain-error';
import type { Database } from '@coxswain/persistence';
import { createLogger } from '@coxswain/telemetry';
import type { Authenticator } from '../auth/authenticator.ts';
import { readConfig } from '../config/config.ts';
import type { Issuer } from '../identity/issuer.ts';
import { keyOf } from '../identity/seal.ts';
import { sealPending } from './pending-sign-in.ts';
import { SignInService } from './sign-in.service.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const KEY = keyOf('a secret', 'pending-sign-in');

/** An issuer that answers when the test says so; `asked` has the codes that were traded, in order. */
class Setup {
  readonly asked: string[] = [];
  readonly #answered = Promise.withResolvers<void>();
  readonly service: SignInService;

  constructor() {
    const ask = async (text: string): Promise<never> => {
      this.asked.push(text);
      await this.#answered.promise;
      throw new DomainError('UNAUTHENTICATED', 'no such code');
    };
    const issuer = { finish: ask, verify: ask } as unknown as Issuer;
    this.service = new SignInService(
      {} as Database,
      { id: 'c', name: 'c' },
      { now: () => NOW },
      readConfig({ DATABASE_URL: 'postgresql://coxswain@127.0.0.1/coxswain' }),
      createLogger({ program: 'test', level: 'silent' }),
      KEY,
      issuer,
      {} as Authenticator,
      { note: () => undefined },
    );
  }

  comeBack(code: string, { from, state = code }: { readonly from: string; readonly state?: string }) {
    const cookie = sealPending({ state, nonce: 'n', verifier: 'v', returnTo: '/' }, { key: KEY, now: NOW });
    const origin = { requestId: 'r', sourceAddress: from, userAgent: undefined };
    return cookie.then((sealed) => this.service.finish(code, sealed, origin));
  }

  trade(idToken: string): Promise<unknown> {
    const origin = { requestId: 'r', sourceAddress: '192.0.2.1', userAgent: undefined };
    return this.service.trade({ idToken }, origin).catch((error: unknown) => (error as Error).message);
  }

  /** The issuer answers, and whoever waits goes on. */
  answer(): void {
    this.#answered.resolve();
  }
}

/** The codes that reach the issuer, as soon as there are so many. Seals are opened in threads, so no number of turns is enough for sure. */
async function until(setup: Setup, asked: number, most = Infinity): Promise<readonly string[]> {
  for (let turn = 0; turn < most && setup.asked.length < asked; turn += 1) await new Promise(setImmediate);
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  return setup.asked;
}

describe('people who come back from the issuer', () => {
  it('from one client take two calls at a time, and another client is served at once', async () => {
    const setup = new Setup();
    const greedy = Array.from({ length: 15 }, (_, index) => setup.comeBack(`a${index}`, { from: '192.0.2.1' }));
    expect(await until(setup, 2)).toHaveLength(2);
    const modest = setup.comeBack('b0', { from: '192.0.2.2' });
    expect((await until(setup, 3)).slice(2)).toEqual(['b0']);
    setup.answer();
    await Promise.all([...greedy, modest]);
    expect(setup.asked).toHaveLength(16);
  });

  it('from many clients leave six calls to sessions, and a newcomer is served before their second ones', async () => {
    const setup = new Setup();
    const clients = Array.from({ length: 10 }, (_, index) => `192.0.2.${index}`);
    const all = clients.flatMap((from) => [1, 2, 3].map((time) => setup.comeBack(`${from}/${time}`, { from })));
    expect(await until(setup, 14)).toHaveLength(14);
    const newcomer = setup.comeBack('newcomer', { from: '198.51.100.1' });
    // It is not called yet, so its turn cannot be seen.
    await until(setup, 15, 20_000);
    setup.answer();
    await Promise.all([...all, newcomer]);
    // Clients without a call come first; the newcomer is the last of these.
    expect(setup.asked.indexOf('newcomer')).toBeLessThan(14 + 4);
  });

  it('spend their state also when it fails', async () => {
    const setup = new Setup();
    setup.answer();
    expect(await setup.comeBack('guess', { from: '192.0.2.1', state: 's' })).toMatchObject({ kind: 'not' });
    expect(await setup.comeBack('right', { from: '192.0.2.1', state: 's' })).toEqual({
      kind: 'not',
      problem: 'refused',
    });
    expect(setup.asked).toEqual(['guess']);
  });
});

describe('an ID token', () => {
  it.each([
    ['again', 'a.b.c'],
    ['padded', 'a.b.c=='],
    ['with a line end', 'a.b.c\n'],
  ])('that was believed by nobody costs no second call %s', async (_how, written) => {
    const setup = new Setup();
    setup.answer();
    expect(await setup.trade('a.b.c')).toBe('no such code');
    expect(await setup.trade(written)).toBe('this sign-in was used before; sign in again');
    expect(setup.asked).toEqual(['a.b.c']);
  });
});
