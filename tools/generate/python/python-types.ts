import type { Schema } from './openapi.ts';

/** Python words that cannot be names, and `None` and the like. */
const KEYWORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
);

/** Types of a module, in the order in which they were asked for. */
export class PythonTypes {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #written = new Map<string, { readonly schema: Schema; text: string }>();

  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.#schemas = schemas;
  }

  /** The annotation of a value, such as `list[Job] | None`; objects without a name of their own get `name`. */
  annotation(schema: Schema, name: string): string {
    const { $ref, anyOf, oneOf, allOf } = schema;
    if ($ref !== undefined) return this.#named($ref.replace('#/components/schemas/', ''));
    if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
    if (schema.enum !== undefined) return union(enumOf(schema.enum));
    const choices = anyOf ?? oneOf;
    if (choices !== undefined)
      return union(choices.map((choice, at) => this.annotation(choice, numbered(name, choices, at))));
    if (allOf?.length === 1 && allOf[0] !== undefined) return this.annotation(allOf[0], name);
    const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
    return types.length === 0 ? 'Any' : union(types.map((type) => this.#ofType(type, schema, name)));
  }

  /** The module with every type that was asked for, sorted by name. */
  module(head: string): string {
    const types = [...this.#written].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { text }]) => text);
    return `${head}\n\n${types.join('\n\n')}`;
  }

  #ofType(type: string, schema: Schema, name: string): string {
    switch (type) {
      case 'string':
        return 'str';
      case 'integer':
        return 'int';
      case 'number':
        return 'float';
      case 'boolean':
        return 'bool';
      case 'null':
        return 'None';
      case 'array':
        return this.#list(schema, name);
      default:
        return this.#object(schema, name);
    }
  }

  #list({ items, prefixItems }: Schema, name: string): string {
    if (prefixItems !== undefined)
      return `tuple[${prefixItems.map((item, at) => this.annotation(item, `${name}${at + 1}`)).join(', ')}]`;
    return `list[${items === undefined ? 'Any' : this.annotation(items, `${name}Item`)}]`;
  }

  #object(schema: Schema, name: string): string {
    const { properties, additionalProperties } = schema;
    if (properties === undefined || Object.keys(properties).length === 0) {
      if (typeof additionalProperties !== 'object') return 'dict[str, Any]';
      return `dict[str, ${this.annotation(additionalProperties, `${name}Value`)}]`;
    }
    this.#write(name, schema);
    return name;
  }

  #named(name: string): string {
    if (!this.#written.has(name)) this.#write(name, this.#schemas[name] ?? {});
    return name;
  }

  #write(name: string, schema: Schema): void {
    const before = this.#written.get(name)?.schema;
    if (before !== undefined && before !== schema && JSON.stringify(before) !== JSON.stringify(schema))
      throw new Error(
        `two types of the OpenAPI document would be ${name} in Python; give one of them a name of its own`,
      );
    // Kept first, so that a type that holds itself ends.
    const written = { schema, text: '' };
    this.#written.set(name, written);
    written.text = this.#declaration(name, schema);
  }

  #declaration(name: string, schema: Schema): string {
    const { properties } = schema;
    if (properties === undefined || Object.keys(properties).length === 0) {
      const value = this.annotation(schema, `${name}Value`);
      return `${name}: TypeAlias = ${JSON.stringify(value)}\n${docstring(schema.description, '')}`;
    }
    const fields = Object.entries(properties).map(([key, value]) => ({
      key,
      annotation: this.#field(schema, key, this.annotation(value, `${name}${capital(key)}`)),
      description: value.description,
    }));
    if (fields.every(({ key }) => isName(key))) {
      const lines = fields.map(
        (field) => `    ${field.key}: ${field.annotation}\n${docstring(field.description, '    ')}`,
      );
      return `class ${name}(TypedDict):\n${docstring(schema.description, '    ')}${lines.join('')}`;
    }
    const lines = fields.map((field) => `        ${literal(field.key)}: ${JSON.stringify(field.annotation)},\n`);
    return `${name} = TypedDict(\n    ${literal(name)},\n    {\n${lines.join('')}    },\n)\n${docstring(schema.description, '')}`;
  }

  #field({ required = [] }: Schema, key: string, annotation: string): string {
    return required.includes(key) ? annotation : `NotRequired[${annotation}]`;
  }
}

/** `plan-id`, `planId` as a Python name: `plan_id`. */
export function snakeCase(name: string): string {
  const words = name
    .replaceAll('-', '_')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase();
  return KEYWORDS.has(words) ? `${words}_` : words;
}

/** The text as lines of a docstring with that indentation; nothing for no text. */
export function docstring(text: string | undefined, indent: string): string {
  if (text === undefined || text === '') return '';
  const safe = text.replaceAll('\\', '\\\\').replaceAll('"""', "'''");
  const ending = safe.endsWith('"') ? ' ' : '';
  return `${indent}"""${safe}${ending}"""\n`;
}

function numbered(name: string, choices: readonly Schema[], at: number): string {
  const objects = choices.filter(({ properties }) => properties !== undefined);
  return objects.length > 1 ? `${name}${at + 1}` : name;
}

function enumOf(values: readonly unknown[]): readonly string[] {
  const literals = values.filter((value) => value !== null).map(literal);
  return [
    ...(literals.length === 0 ? [] : [`Literal[${literals.join(', ')}]`]),
    ...(values.includes(null) ? ['None'] : []),
  ];
}

/** Literals of several parts become one, because that is how Python writes them. */
function union(parts: readonly string[]): string {
  const literals = [...new Set(parts.flatMap((part) => /^Literal\[(.*)\]$/.exec(part)?.[1] ?? []))];
  const others = [...new Set(parts.filter((part) => !/^Literal\[.*\]$/.test(part)))];
  return [...(literals.length === 0 ? [] : [`Literal[${literals.join(', ')}]`]), ...others].join(' | ');
}

function literal(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

function isName(key: string): boolean {
  return /^[A-Za-z_]\w*$/.test(key) && !KEYWORDS.has(key);
}

function capital(text: string): string {
  const words = text.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_all, next: string | undefined) => (next ?? '').toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}
