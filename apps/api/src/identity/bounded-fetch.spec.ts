import { boundedFetch, IssuerUnavailable, MAX_ANSWER_BYTES, MAX_CALLS } from './bounded-fetch.ts';

const outcomeOf = (act: Promise<Response>): Promise<unknown> =>
  act.then(
    async (answer) => `${answer.status} ${(await answer.text()).length}`,
    (error: unknown) => (error instanceof IssuerUnavailable ? error.message : error),
  );

describe('a call to the issuer', () => {
  it.each<[string, () => Promise<Response>, unknown]>([
    ['gives its answer', () => Promise.resolve(new Response('{}')), '200 2'],
    ['gives a refusal', () => Promise.resolve(new Response('{}', { status: 400 })), '400 2'],
    [
      'gives an answer of the largest size',
      () => Promise.resolve(new Response('x'.repeat(MAX_ANSWER_BYTES))),
      `200 ${MAX_ANSWER_BYTES}`,
    ],
    [
      'that is answered with more bytes than an issuer has to say is given up',
      () => Promise.resolve(new Response('x'.repeat(MAX_ANSWER_BYTES + 1))),
      'its answer has more than 262144 bytes',
    ],
    ['that fails there is no answer', () => Promise.resolve(new Response('', { status: 503 })), 'it answered 503'],
    ['that asks too often is no answer', () => Promise.resolve(new Response('', { status: 429 })), 'it answered 429'],
    ['that reaches nobody is no answer', () => Promise.reject(new TypeError('fetch failed')), 'fetch failed'],
  ])('%s', async (_sentence, fetch, want) => {
    expect(await outcomeOf(boundedFetch(fetch)('https://accounts.example.com'))).toBe(want);
  });

  it('is refused beside too many others, follows no redirect, and has an end', async () => {
    const seen: RequestInit[] = [];
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const call = boundedFetch(async (_url, init) => {
      seen.push(init ?? {});
      await answered;
      return new Response('{}');
    });
    const first = Array.from({ length: MAX_CALLS }, () => outcomeOf(call('https://accounts.example.com')));
    expect(await outcomeOf(call('https://accounts.example.com'))).toBe(
      `${MAX_CALLS} calls to the issuer are under way`,
    );
    expect(seen).toHaveLength(MAX_CALLS);
    expect(seen[0]).toMatchObject({ redirect: 'manual' });
    expect(seen[0]?.signal).toBeInstanceOf(AbortSignal);
    answer();
    expect(new Set(await Promise.all(first))).toEqual(new Set(['200 2']));
    expect(await outcomeOf(call('https://accounts.example.com'))).toBe('200 2');
  });
});
