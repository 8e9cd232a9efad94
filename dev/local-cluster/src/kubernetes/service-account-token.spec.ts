import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { AdminRequest } from './admin-client.ts';
import { keepTokenFresh } from './service-account-token.ts';

const LIFETIME_SECONDS = 600;

describe('the token file of a service account', () => {
  let directory: string;
  let stop: () => void;
  let requests: AdminRequest[];
  let answers: (string | Error)[];

  const admin = {
    json: async <T>(request: AdminRequest): Promise<T> => {
      requests.push(request);
      const answer = answers.shift() ?? new Error('no answer planned');
      if (answer instanceof Error) {
        throw answer;
      }
      return { status: { token: answer } } as T;
    },
  };
  const token = (): string => readFileSync(join(directory, 'token'), 'utf8');
  const start = async (...planned: (string | Error)[]): Promise<void> => {
    answers = planned;
    const path = join(directory, 'token');
    stop = await keepTokenFresh(admin, {
      namespace: 'team',
      serviceAccount: 'operator',
      path,
      lifetimeSeconds: LIFETIME_SECONDS,
    });
  };

  beforeEach(() => {
    vi.useFakeTimers();
    directory = mkdtempSync(join(tmpdir(), 'token-'));
    requests = [];
  });

  afterEach(() => {
    stop();
    vi.useRealTimers();
    rmSync(directory, { recursive: true });
  });

  it('is there before anybody needs it', async () => {
    await start('first');

    expect(token()).toBe('first');
    expect(requests[0]).toMatchObject({
      path: '/api/v1/namespaces/team/serviceaccounts/operator/token',
      body: { spec: { expirationSeconds: LIFETIME_SECONDS } },
    });
  });

  it('is rewritten after a third of the life of its token', async () => {
    await start('first', 'second');

    await vi.advanceTimersByTimeAsync(LIFETIME_SECONDS * 333);
    expect(token()).toBe('first');
    await vi.advanceTimersByTimeAsync(LIFETIME_SECONDS);
    expect(token()).toBe('second');
  });

  it('keeps its token while the apiserver is away, and is rewritten when it is back', async () => {
    await start('first', new Error('connection refused'), new Error('connection refused'), 'second');

    await vi.advanceTimersByTimeAsync((LIFETIME_SECONDS * 1000) / 3 + 5_000);
    expect(token()).toBe('first');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(token()).toBe('second');
  });

  it('is replaced in one step: nothing half-written lies beside it', async () => {
    await start('first');

    expect(readdirSync(directory)).toEqual(['token']);
  });

  it('rests once it is told to stop', async () => {
    await start('first', 'second');
    stop();

    await vi.advanceTimersByTimeAsync(LIFETIME_SECONDS * 1000);
    expect(token()).toBe('first');
  });
});
