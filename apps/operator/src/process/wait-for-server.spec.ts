import { KubeApiError } from '@coxswain/kube';
import { FakeClock } from '@coxswain/kube/testing';
import { createLogger } from '@coxswain/telemetry';
import { waitForServer } from './wait-for-server.ts';

const away = new KubeApiError({ status: 0, reason: 'ConnectionFailed', message: 'ECONNREFUSED' });
const status = (code: number, message = 'x'): KubeApiError =>
  new KubeApiError({ status: code, reason: 'Some', message });
const roleless = status(403, 'secrets "x" is forbidden: User "system:serviceaccount:a:b" cannot get resource');

/** Asks a server that answers each try with the next of `answers`, the last of them for ever. */
function asking(...answers: readonly unknown[]) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const warned: string[] = [];
  const log = createLogger({ program: 'test', level: 'silent' });
  log.warn = ((_facts: unknown, text: string) => void warned.push(text)) as typeof log.warn;
  let tries = 0;
  const ask = (): Promise<unknown> => {
    const answer = answers[Math.min(tries, answers.length - 1)];
    tries += 1;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const outcome: { now: unknown } = { now: 'waits' };
  waitForServer(ask, { clock, log, signal: stop.signal }).then(
    (answer) => (outcome.now = answer),
    (error: unknown) => (outcome.now = error),
  );
  return { clock, stop, warned, outcome, tries: () => tries };
}

describe('waiting for the API server', () => {
  it.each<[string, Error, RegExp]>([
    ['is away', away, /does not answer/],
    ['is overloaded', status(429), /does not answer/],
    ['is restarting', status(503), /does not answer/],
    ['refuses the credential', status(401), /check that the service account exists/],
    ['does not know the roles yet', roleless, /helm upgrade/],
  ])('goes on while the server %s, and says so at once and then every 30 s', async (_, trouble, words) => {
    const { clock, warned, outcome, tries } = asking(...Array<Error>(44).fill(trouble), 'hello');
    await clock.advance(85_000);
    expect([outcome.now, warned.length, tries() > 40]).toEqual(['waits', 3, true]);
    for (const text of warned) expect(text).toMatch(words);
    await clock.advance(5_000);
    expect([outcome.now, clock.pending]).toEqual(['hello', 0]);
  });

  it('tells another trouble at once', async () => {
    const { clock, warned } = asking(away, status(401), away, away);
    await clock.advance(10_000);
    expect(warned).toHaveLength(3);
  });

  it.each<[string, Error]>([
    ['a version that is too old', new Error('Kubernetes 1.30 is too old')],
    [
      'a kubeconfig that cannot be read',
      new KubeApiError({ status: 0, reason: 'CredentialsUnavailable', message: '' }),
    ],
    ['a refusal by admission', status(403, 'denied the request: no')],
    ['a bad request', status(400)],
  ])('ends at once with what no waiting mends: %s', async (_, error) => {
    const { clock, outcome } = asking(error);
    await clock.advance(0);
    expect([outcome.now, clock.pending]).toEqual([error, 0]);
  });

  it('ends when it is told to stop', async () => {
    const { clock, stop, outcome } = asking(away);
    await clock.advance(3_000);
    stop.abort(new Error('stopped'));
    await clock.advance(0);
    expect([outcome.now, clock.pending]).toEqual([new Error('stopped'), 0]);
  });
});
