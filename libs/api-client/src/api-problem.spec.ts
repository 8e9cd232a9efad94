import { ApiProblem, ApiUnreachable } from './api-problem.ts';

const problem = (fields: object = {}): Response =>
  new Response(
    JSON.stringify({
      type: 'about:blank',
      title: 'x',
      status: 409,
      code: 'NAME_TAKEN',
      detail: 'the name is taken',
      ...fields,
    }),
    { status: 409 },
  );

describe('what the API refuses', () => {
  it('is told in its words, with the code', async () => {
    expect(await ApiProblem.from(problem())).toMatchObject({
      status: 409,
      code: 'NAME_TAKEN',
      message: 'the name is taken (NAME_TAKEN)',
    });
  });

  it('names every field that is wrong, a line each', async () => {
    const errors = [
      { pointer: '/name', detail: 'is too long' },
      { pointer: '', detail: 'is no object' },
    ];
    const refused = await ApiProblem.from(problem({ errors }));
    expect(refused.violations).toEqual(errors);
    expect(refused.message.split('\n')).toEqual([
      'the name is taken (NAME_TAKEN)',
      '  /name: is too long',
      '  (body): is no object',
    ]);
  });

  it.each<[string, Response, RegExp]>([
    [
      'a page of a proxy',
      new Response('<html>Bad gateway</html>', { status: 502 }),
      /answered 502: <html>.*Is the address that of a Coxswain API\?/,
    ],
    ['an empty answer', new Response('', { status: 404 }), /answered 404\. Is the address/],
    ['JSON of somebody else', new Response('{"error":"no"}', { status: 400 }), /answered 400: \{"error":"no"\}/],
  ])('is asked about when it is %s', async (_what, response, want) => {
    expect(await ApiProblem.from(response)).toMatchObject({
      code: 'UNKNOWN',
      message: expect.stringMatching(want) as string,
    });
  });

  it('is cut where it would fill the screen', async () => {
    expect((await ApiProblem.from(new Response('x'.repeat(100_000), { status: 500 }))).message.length).toBeLessThan(
      700,
    );
  });
});

describe('an API that does not answer', () => {
  it.each<[string, unknown]>([
    ['the innermost reason', new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })],
    ['the only reason', new Error('connect ECONNREFUSED')],
    ['what is no error', 'connect ECONNREFUSED'],
  ])('is named with %s', (_what, cause) => {
    expect(new ApiUnreachable('http://here', cause).message).toBe(
      'Cannot reach http://here: connect ECONNREFUSED. Is the API running, and is the address right?',
    );
  });
});
