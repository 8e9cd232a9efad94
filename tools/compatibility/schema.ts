/** What comparisons read of a JSON schema, in the dialect of OpenAPI 3.1 or of a CustomResourceDefinition. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly [keyword: string]: unknown;
}

/** Named schemas of a document, to which `$ref` leads. */
export type NamedSchemas = Readonly<Record<string, Schema>>;

/** Name of the schema to which a reference leads. */
export function referredName({ $ref }: Schema): string | undefined {
  return $ref?.slice($ref.lastIndexOf('/') + 1);
}

/** The schema that a reference leads to, with the parts of `allOf` in place. Throws an error for a reference that leads nowhere. */
export function resolve(schema: Schema, named: NamedSchemas): Schema {
  const name = referredName(schema);
  if (name !== undefined) {
    const target = named[name];
    if (target === undefined) throw new Error(`${schema.$ref} leads to no schema of the document`);
    return resolve(target, named);
  }
  const { allOf, ...own } = schema;
  if (allOf === undefined) return schema;
  return allOf.map((part) => resolve(part, named)).reduce(merged, own);
}

function merged(one: Schema, other: Schema): Schema {
  return {
    ...one,
    ...other,
    properties: { ...one.properties, ...other.properties },
    required: [...(one.required ?? []), ...(other.required ?? [])],
  };
}

/** The variants of a union, or the schema itself. */
export function variantsOf(schema: Schema, named: NamedSchemas): readonly Schema[] {
  const { anyOf, oneOf } = schema;
  return (anyOf ?? oneOf ?? [schema]).map((variant) => resolve(variant, named));
}

/** Types that a value may have; undefined: any. */
export function typesOf({ type, nullable, enum: values, const: value }: Schema): readonly string[] | undefined {
  const fixed = values ?? (value === undefined ? undefined : [value]);
  const named = type === undefined ? fixed?.map(typeOf) : [type].flat();
  if (named === undefined) return undefined;
  return [...new Set(nullable === true ? [...named, 'null'] : named)];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The only values that are allowed; undefined: any of the type. */
export function valuesOf({ enum: values, const: value }: Schema): readonly unknown[] | undefined {
  return values ?? (value === undefined ? undefined : [value]);
}
