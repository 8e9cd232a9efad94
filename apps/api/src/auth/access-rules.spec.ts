import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildSchema } from 'graphql';
import { CONTROLLERS } from '../app.module.ts';
import { declaredRoutes } from '../http/openapi.ts';
import { FIELD_RULES, ROUTE_RULES } from './access-rules.ts';

describe('the table of who may ask what', () => {
  it('has a rule for each declared route, and no other', () => {
    const declared = declaredRoutes(CONTROLLERS).map(({ method, path }) => `${method} ${path}`);
    expect(Object.keys(ROUTE_RULES).sort()).toEqual(declared.sort());
  });

  it('has a rule for each field at the root of the GraphQL schema, and no other', () => {
    const text = readFileSync(resolve(import.meta.dirname, '../graphql/schema.generated.graphql'), 'utf8');
    const schema = buildSchema(text);
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
    const fields = roots.flatMap((type) => Object.keys(type?.getFields() ?? {}).map((name) => `${type?.name}.${name}`));
    expect(Object.keys(FIELD_RULES).sort()).toEqual(fields.sort());
  });

  it('lets every role ask REST and GraphQL the same', () => {
    const rules = (table: object): readonly string[] =>
      [...new Set(Object.values(table).map((rule) => JSON.stringify(rule)))].sort();
    expect(rules(ROUTE_RULES).filter((rule) => rule !== '"public"')).toEqual(rules(FIELD_RULES));
  });
});
