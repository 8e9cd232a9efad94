import { buildSchema, validateSchema } from 'graphql';
import { z } from 'zod';
import { generateGraphqlSchema, graphqlDefinitions } from './graphql.ts';

const Named = z.object({ a: z.string() }).meta({ id: 'Named' });
const Word = z.enum(['on', 'off']).meta({ id: 'Word' });

describe('a field of an answer', () => {
  it.each<[string, z.ZodType, string]>([
    ['text', z.string(), 'String!'],
    ['an id', z.uuid(), 'ID!'],
    ['a truth', z.boolean(), 'Boolean!'],
    ['a number', z.number(), 'Float!'],
    ['a small whole number', z.int().max(2_147_483_647), 'Int!'],
    ['a whole number beyond 32 bits', z.int().max(2_147_483_648), 'SafeInt!'],
    ['a whole number without a bound', z.int(), 'SafeInt!'],
    ['an instant', z.string().meta({ format: 'date-time' }), 'String!'],
    ['what may be absent', z.string().optional(), 'String'],
    ['what may be null', z.string().nullable(), 'String'],
    ['what has a default', z.string().default('x'), 'String!'],
    ['a list', z.array(z.string()), '[String!]!'],
    ['a list with gaps', z.array(z.string().nullable()), '[String]!'],
    ['a named type', Named, 'Named!'],
    ['a named type that may be null', Named.nullable(), 'Named'],
    ['a named type with a description', Named.describe('of this field'), 'Named!'],
    ['an object without a name', z.object({ a: z.string() }), 'TopField!'],
    ['objects of a list', z.array(z.object({ a: z.string() })), '[TopField!]!'],
    ['words', z.enum(['on', 'off']), 'TopField!'],
    ['words of two enumerations', z.enum(['on']).or(z.enum(['off'])), 'TopField!'],
    ['words with a name', Word, 'Word!'],
    ['words that GraphQL cannot name', z.enum(['2x', 'true']), 'String!'],
    ['a record', z.record(z.string(), z.string()), 'JSON!'],
  ])('that is %s', (_what, field, want) => {
    const [top] = graphqlDefinitions({ answers: [z.object({ field }).meta({ id: 'Top' })] }).filter((text) =>
      text.startsWith('type Top {'),
    );
    expect(top?.replace(/ *".*"\n/, '')).toBe(`type Top {\n  field: ${want}\n}`);
  });
});

describe('a field of a request', () => {
  it.each<[string, z.ZodType, string]>([
    ['required', z.string(), 'String!'],
    ['has a default', z.string().default('x'), 'String'],
    ['may be absent', z.string().optional(), 'String'],
    ['is a named type', Named, 'NamedInput!'],
    ['is an object without a name', z.strictObject({ a: z.int().max(1) }), 'TopFieldInput!'],
    ['is a word', Word, 'Word!'],
  ])('that %s', (_what, field, want) => {
    const definitions = graphqlDefinitions({ requests: [z.strictObject({ field }).meta({ id: 'Top' })] });
    expect(definitions).toContain(`input TopInput {\n  field: ${want}\n}`);
  });
});

describe('a type that cannot be written', () => {
  it.each<[string, z.ZodType, string]>([
    ['has no name', z.object({ a: z.string() }), 'needs a name'],
    ['holds a union of types', z.object({ a: z.string().or(z.int()) }).meta({ id: 'U' }), 'UA: a union of 2 types'],
    ['holds anything', z.object({ a: z.any() }).meta({ id: 'U' }), 'UA: no GraphQL type'],
  ])('is refused when it %s', (_what, type, sentence) => {
    expect(() => graphqlDefinitions({ answers: [type] })).toThrow(sentence);
  });

  it('is refused when its name is taken by another', () => {
    const answers = [
      z.object({ aB: z.object({ x: z.string() }) }).meta({ id: 'Top' }),
      z.object({ x: z.boolean() }).meta({ id: 'TopAB' }),
    ];
    expect(() => graphqlDefinitions({ answers })).toThrow('two different types want the name TopAB');
  });
});

describe('the schema of the API', () => {
  const sdl = generateGraphqlSchema();

  it('is valid, and the same each time', () => {
    expect(validateSchema(buildSchema(sdl))).toEqual([]);
    expect(generateGraphqlSchema()).toBe(sdl);
  });

  it('has no subscription', () => {
    expect(buildSchema(sdl).getSubscriptionType()).toBeUndefined();
  });
});
