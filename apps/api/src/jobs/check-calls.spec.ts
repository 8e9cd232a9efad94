import { type CallOptions, KubeApiError } from '@coxswain/kube';
import { type Limit, LimitExceeded } from '../limits/limit-exceeded.ts';
import { aPrincipal } from '../testing/a-principal.ts';
import { CheckCalls } from './check-calls.ts';

const refuse = (limit: Limit, message: string, seconds: number): LimitExceeded =>
  new LimitExceeded(limit, message, seconds);
const callsOf = (): CheckCalls => new CheckCalls({ ownerOf: (_principal, project) => project ?? '', refuse });
const member = (id: string) => aPrincipal({ id });

describe('checks of jobs', () => {
  it('of a project whose webhooks hang leave places to another project', async () => {
    const calls = callsOf();
    const hang = Promise.withResolvers<void>();
    let hanging = 0;
    const ofA = Array.from({ length: 20 }, (_, index) =>
      calls.ask(member(`a${index}`), 'a', () => {
        hanging += 1;
        return hang.promise;
      }),
    );
    expect(hanging).toBe(2);
    await expect(calls.ask(member('b'), 'b', () => Promise.resolve('answered'))).resolves.toBe('answered');
    hang.resolve();
    await Promise.all(ofA);
    expect(hanging).toBe(20);
  });

  it('are refused if too many of one project wait', async () => {
    const calls = callsOf();
    const hang = Promise.withResolvers<void>();
    const ofA = Array.from({ length: 22 }, () => calls.ask(member('a'), 'a', () => hang.promise));
    await expect(calls.ask(member('a'), 'a', () => hang.promise)).rejects.toThrow('too many checks of jobs');
    hang.resolve();
    await Promise.all(ofA);
  });

  it('give their place back if a call fails', async () => {
    const calls = callsOf();
    const failing = (): Promise<never> =>
      Promise.reject(new KubeApiError({ status: 0, reason: 'Timeout', message: '' }));
    for (let time = 0; time < 3; time++) await expect(calls.ask(member('a'), 'a', failing)).rejects.toThrow();
    await expect(calls.ask(member('a'), 'a', () => Promise.resolve('answered'))).resolves.toBe('answered');
  });

  it('use no call of those that carry changes to the cluster, and end within seconds', async () => {
    const options = await callsOf().ask(member('a'), 'a', (call: CallOptions) => Promise.resolve(call));
    expect(options).toEqual({ lane: 'bulk', turnOf: 'a', timeoutMs: 5_000 });
  });
});
