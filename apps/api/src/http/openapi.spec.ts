import { CONTROLLERS } from '../app.module.ts';
import { declaredRoutes } from './openapi.ts';
import { openApiDocument } from './openapi-document.ts';

const routes = declaredRoutes(CONTROLLERS);
const document = openApiDocument(CONTROLLERS);

describe('the OpenAPI document', () => {
  it('has every route once', () => {
    const keys = routes.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(keys).size).toBe(keys.length);
    expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
    expect(routes.length).toBeGreaterThan(25);
  });

  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s says what it answers and names every parameter of its path',
    (_what, { answer, path, parameters }) => {
      expect(answer?.summary).toMatch(/^[A-Z].{3,}/);
      const named = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
      expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    },
  );

  it.each(routes.filter(({ method }) => method === 'GET').map((route) => [route.path, route] as const))(
    'GET %s takes no body',
    (_path, { body }) => {
      expect(body).toBeUndefined();
    },
  );

  it('refers to nothing that it does not hold', () => {
    const { components } = document as { readonly components: { readonly schemas: object } };
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(20);
    for (const [, name = ''] of references) expect(components.schemas).toHaveProperty([name]);
  });

  it('tells apart what may be sent from what is answered', () => {
    const { components } = document as { readonly components: { readonly schemas: object } };
    expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(['ModelSpec', 'ModelSpecInput']));
  });

  it('holds nothing that only Kubernetes reads', () => {
    expect(JSON.stringify(document)).not.toContain('x-kubernetes-');
  });

  it.each(
    routes.filter(({ body }) => body !== undefined).map((route) => [`${route.method} ${route.path}`, route] as const),
  )('%s shows a body that may be sent', (_what, { method, path, body }) => {
    const content = operation(method, path).requestBody?.content['application/json'];
    const values = Object.values(content?.examples ?? {}).map(({ value }) => value);
    expect(values.length).toBeGreaterThan(0);
    for (const value of values) expect(body?.safeParse(value).error).toBeUndefined();
  });

  it.each<[string, string, string, readonly string[]]>([
    ['what is public', 'GET', '/healthz', ['200']],
    ['what says by itself that it cannot serve', 'GET', '/readyz', ['200', '503']],
    ['a list of everything that one may see', 'GET', '/v1/projects', ['200', '304', '401', '403', '412', '429', '503']],
    [
      'a list of a project',
      'GET',
      '/v1/projects/{project}/layouts',
      ['200', '304', '400', '401', '403', '404', '412', '429', '503'],
    ],
    [
      'what not every role may',
      'GET',
      '/v1/projects/{project}/tokens',
      ['200', '304', '400', '401', '403', '404', '412', '429', '503'],
    ],
    [
      'what is sent, under a key',
      'POST',
      '/v1/projects/{project}/jobs',
      ['201', '400', '401', '403', '404', '409', '413', '422', '429', '503'],
    ],
    [
      'what changes a version',
      'POST',
      '/v1/projects/{project}/jobs/{jobId}/suspend',
      ['200', '400', '401', '403', '404', '409', '412', '413', '429', '503'],
    ],
  ])('states every status of %s: %s %s', (_what, method, path, want) => {
    expect(Object.keys(operation(method, path).responses)).toEqual(want);
  });

  it('says when to ask again, and how to say who asks', () => {
    const { responses } = operation('GET', '/v1/whoami');
    expect(Object.keys(responses['429']?.headers ?? {})).toEqual(['Cache-Control', 'X-Request-Id', 'Retry-After']);
    expect(Object.keys(responses['503']?.headers ?? {})).toEqual(['Cache-Control', 'X-Request-Id', 'Retry-After']);
    expect(Object.keys(responses['401']?.headers ?? {})).toEqual(['Cache-Control', 'X-Request-Id', 'WWW-Authenticate']);
  });

  it('names the roles that may, each by itself, by token and by cookie, and none where none is asked for', () => {
    const rolesOf = (method: string, path: string): unknown => operation(method, path).security;
    expect(rolesOf('GET', '/healthz')).toEqual([]);
    expect(rolesOf('GET', '/v1/whoami')).toEqual([{ token: [] }, { session: [] }]);
    expect(rolesOf('GET', '/v1/projects/{project}/tokens')).toEqual([
      { token: ['admin'] },
      { token: ['clusterAdmin'] },
      { session: ['admin'] },
      { session: ['clusterAdmin'] },
    ]);
  });

  it('names the headers that a route reads and answers with', () => {
    const post = operation('POST', '/v1/projects/{project}/jobs');
    const cancel = operation('POST', '/v1/projects/{project}/jobs/{jobId}/cancel');
    const stream = operation('GET', '/v1/projects/{project}/jobs/{jobId}/events/stream');
    const headersOf = ({ parameters }: Operation): readonly string[] =>
      parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
    expect([post, cancel, stream].map(headersOf)).toEqual([['Idempotency-Key'], ['If-Match'], ['Last-Event-ID']]);
    expect(headersOf(operation('GET', '/v1/projects/{project}/jobs/{jobId}'))).toEqual(['If-None-Match', 'If-Match']);
    expect(Object.keys(post.responses['201']?.headers ?? {})).toEqual(['Cache-Control', 'X-Request-Id', 'ETag']);
  });

  it('describes each event of a stream', () => {
    const stream = operation('GET', '/v1/projects/{project}/jobs/{jobId}/events/stream');
    const schema = stream.responses['200']?.content?.['text/event-stream']?.schema;
    expect(schema).toMatchObject({
      description: expect.stringMatching(/`event`: .*`job`: .*`step`: /) as string,
      'x-coxswain-events': {
        event: { $ref: '#/components/schemas/JobEvent' },
        job: { $ref: '#/components/schemas/Job' },
        step: { $ref: '#/components/schemas/StepPoint' },
      },
    });
  });
});

interface StatedResponse {
  readonly headers?: object;
  readonly content?: Readonly<Record<string, { readonly schema: unknown }>>;
}
interface Operation {
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }>
    >;
  };
  readonly responses: Readonly<Record<string, StatedResponse>>;
}

function operation(method: string, path: string): Operation {
  const { paths } = document as { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
  const found = paths[path]?.[method.toLowerCase()];
  if (found === undefined) throw new Error(`no ${method} ${path}`);
  return found;
}
