import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  buildSchema,
  type DocumentNode,
  getIntrospectionQuery,
  getNamedType,
  type GraphQLOutputType,
  isObjectType,
  parse,
  validate,
  visit,
} from 'graphql';
import {
  countComparisons,
  MAX_COMPARISONS,
  MAX_FRAGMENTS,
  MAX_OPERATIONS,
  MAX_VISITS,
  requireComparable,
} from './query-comparisons.ts';
import { MAX_TOKENS, requireModest } from './query-limits.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const schema = buildSchema(readFileSync(resolve(import.meta.dirname, 'schema.generated.graphql'), 'utf8'));

const times = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');
/** The document that was sent in an attack: 7 kB, one request, 93 ms of CPU. */
const attack = (repeats: number): string => `{ jobs(project: "p") { ${'items { id name } '.repeat(repeats)} } }`;
const comparisonsOf = (query: string): number => countComparisons(parse(query)).comparisons;

describe('comparisons of fields', () => {
  it.each<[string, string, number]>([
    ['fields of different names', '{ a b c }', 0],
    ['a name that is repeated', '{ a a a a }', 6],
    ['an alias that repeats a name', '{ a b: a a: a }', 1],
    ['names below two fields that are merged', '{ a { x y } a { x y } }', 3],
    ['inline fragments, which are part of their set', '{ a ... { a ... { a } } }', 3],
    // The two sets that the fragment brings, merged; then the fragment by itself.
    ['a fragment that is spread twice', '{ ...F ...F } fragment F on T { x y }', 2 + 8],
    ['a fragment that nothing spreads', '{ a } fragment F on T { x x x }', 3],
    ['a fragment in itself', '{ a { ...F } } fragment F on T { b { ...F } }', 1],
    ['a missing fragment', '{ a ...F }', 1],
    ['arguments of a name that is repeated', '{ a(x: 1, y: 2) a(x: 1, y: 2) a(x: 1, y: 2) }', 3 + 12],
    ['values in them', '{ a(x: [1, {y: 2}]) a(x: [1, {y: 2}]) }', 1 + 8],
    ['arguments of different names', '{ a(x: 1) b(x: 1) }', 0],
  ])('are counted for %s', (_what, query, want) => {
    expect(comparisonsOf(query)).toBe(want);
  });

  it.each<[string, string, RegExp]>([
    ['the attack', attack(300), /takes 134550 comparisons; at most 10000 are allowed.*each field once/],
    ['one name repeated', `{ a { ${'b '.repeat(900)} } }`, /404550 comparisons/],
    [
      'one name repeated with arguments, which takes 15 ms',
      `{ job(project: "p", id: "i") { ${'steps(epoch: 1, fromStep: 1, toStep: 2, limit: 3, maxPoints: 4) { __typename } '.repeat(99)} } }`,
      /58212 comparisons/,
    ],
    ['a large fragment that nothing spreads', `{ a } fragment F on T { ${'b '.repeat(900)} }`, /404550 comparisons/],
    [
      'fragments that double',
      `{ ...F0 } ${times(40, (n) => `fragment F${n} on T { ...F${n + 1} ...F${n + 1} }`)}`,
      /10000 selections/,
    ],
    [
      'many fragments',
      `{ a } ${times(MAX_FRAGMENTS + 1, (n) => `fragment F${n} on T { a }`)}`,
      /51 fragments; at most 50/,
    ],
    ['many operations', times(MAX_OPERATIONS + 1, (n) => `query Q${n} { ...F }`), /11 operations; at most 10/],
  ])('reject %s before validation', (_what, query, sentence) => {
    expect(() => requireComparable(parse(query))).toThrow(sentence);
  });

  it('are counted with work that grows with the document, not with its square', () => {
    const visits = (repeats: number): number => countComparisons(parse(attack(repeats))).visits;
    expect([visits(100), visits(200), visits(400)]).toEqual([301, 601, 1201]);
    for (const query of [attack(400), `{ a { ${'b '.repeat(1_400)} } }`]) {
      const { visits: made } = countComparisons(parse(query));
      expect(made).toBeLessThan(query.length);
    }
  });

  it('are at least as many as validation makes', () => {
    for (const query of [
      attack(80),
      `{ whoAmI { ${'name '.repeat(140)} } }`,
      `{ jobs(project: "p") { items { ${times(40, (n) => `...F${n}`)} } } } ${times(40, (n) => `fragment F${n} on JobSummary { id name }`)}`,
    ]) {
      const document = parse(query, { maxTokens: MAX_TOKENS });
      const { visits, comparisons } = countComparisons(document);
      expect(() => requireComparable(document)).not.toThrow();
      // A comparison reads both names. Besides, each rule reads the name of each field a few times.
      expect(nameReadsOfValidation(document)).toBeLessThanOrEqual(4 * comparisons + 40 * visits);
    }
  });
});

/** How often validation reads names of fields. */
function nameReadsOfValidation(document: DocumentNode): number {
  let reads = 0;
  const counting = visit(document, {
    Field: (node) => {
      const { name } = node;
      return Object.defineProperty({ ...node }, 'name', {
        enumerable: true,
        get: () => {
          reads += 1;
          return name;
        },
      });
    },
  });
  expect(validate(schema, counting)).toEqual([]);
  return reads;
}

/** GraphQL documents in quotes or in code blocks of this repository: what parses. */
function documentsOfRepository(): readonly string[] {
  const files = globSync('{apps,libs,tools,e2e,docs,examples,dev}/**/*.{ts,tsx,md,mjs}', {
    cwd: ROOT,
    exclude: ['**/node_modules', '**/dist'],
  });
  return files.flatMap((file) => {
    const text = readFileSync(resolve(ROOT, file), 'utf8');
    const quoted = [
      ...text.matchAll(
        /```graphql\n([^`]*)```|`((?:\s*(?:query|mutation)\b|\{)[^`]*)`|'((?:(?:query|mutation)\b|\{)[^'\n]*)'/g,
      ),
    ];
    return quoted
      .map(([, ...groups]) => (groups.find((group) => group !== undefined) ?? '').replaceAll(/\$\{[^{}]*\}/g, 'x: "x"'))
      .filter(isDocument);
  });
}

function isDocument(query: string): boolean {
  try {
    return parse(query).definitions.length > 0;
  } catch {
    return false;
  }
}

/** Every root field of the schema, each in a document that asks for everything below it. */
function wholeDocuments(): readonly string[] {
  const below = (type: GraphQLOutputType, depth: number): string => {
    const named = getNamedType(type);
    if (!isObjectType(named)) return '';
    if (depth === 0) return '{ __typename }';
    return `{ ${Object.values(named.getFields())
      .map((field) => `${field.name} ${below(field.type, depth - 1)}`)
      .join(' ')} }`;
  };
  return Object.values(schema.getQueryType()?.getFields() ?? {}).map(
    (field) => `{ ${field.name} ${below(field.type, 4)} }`,
  );
}

describe('documents that somebody has a use for', () => {
  const used = [getIntrospectionQuery(), ...documentsOfRepository(), ...wholeDocuments()];

  it('stay well below the bounds', () => {
    expect(documentsOfRepository().length).toBeGreaterThan(40);
    for (const query of used) {
      const { visits, comparisons } = countComparisons(parse(query));
      expect({ query, comparisons: Math.max(comparisons, MAX_COMPARISONS / 20) }).toEqual({
        query,
        comparisons: MAX_COMPARISONS / 20,
      });
      expect(visits).toBeLessThan(MAX_VISITS / 5);
    }
    expect(() => {
      const document = parse(getIntrospectionQuery());
      requireModest(document);
      requireComparable(document);
    }).not.toThrow();
  });
});
