import { z } from 'zod';

/** What is sent, or what is answered: they differ where a field has a default. */
export type Direction = 'input' | 'output';

/** Named JSON schemas of a document, by name. */
export type SchemaRegistry = Map<string, unknown>;

/**
 * The JSON schema of a type. Named types go to the registry and are referred to; those that differ between what may be sent and what is
 * answered (defaults) get the suffix `Input` in requests.
 */
export function schemaOf(
  schema: z.ZodType,
  options: { readonly io: Direction; readonly registry: SchemaRegistry },
): Record<string, unknown> {
  const { io, registry } = options;
  const suffix = io === 'input' ? 'Input' : '';
  const json = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    reused: 'inline',
    unrepresentable: 'any',
  }) as Record<string, unknown>;
  const { $schema: _dialect, $defs, ...own } = json;
  for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, unknown>)) {
    registry.set(`${name}${suffix}`, forOpenApi(definition, suffix));
  }
  // A named type is itself a reference by now.
  return forOpenApi(own, suffix) as Record<string, unknown>;
}

/** References point into the document, and what only Kubernetes reads is left out. */
function forOpenApi(value: unknown, suffix: string): unknown {
  if (Array.isArray(value)) return value.map((item) => forOpenApi(item, suffix));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (key.startsWith('x-kubernetes-')) return [];
      // Those of requests: what has a default may be missing from them.
      if (key === 'examples') return suffix === '' ? [] : [[key, inner]];
      if (key === '$ref' && typeof inner === 'string') {
        return [
          [key, inner.replace(/^#\/\$defs\/(.*)$/, (_all, name: string) => `#/components/schemas/${name}${suffix}`)],
        ];
      }
      return [[key, forOpenApi(inner, suffix)]];
    }),
  );
}
