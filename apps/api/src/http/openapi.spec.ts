import { CONTROLLERS } from '../app.module.ts';
import { declaredRoutes, openApiDocument } from './openapi.ts';

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
});
