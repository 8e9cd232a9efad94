/** Which values does a fuzzer send? Such as a JSON schema allows, and such as it does not. */
import type { Dice } from '../support/random.ts';

/** As much of a JSON schema as values are made from. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
}

const MAX_DEPTH = 8;

/** Texts on which programs have fallen. */
export const HOSTILE_TEXTS: readonly string[] = [
  ...[
    '',
    ' ',
    '-',
    '.',
    '..',
    '*',
    '%',
    '%00',
    '\u0000',
    'a\u0000b',
    '\ud800',
    '\u202e',
    '\u001b]52;c;eA==\u0007',
    '💥',
  ],
  ...["'; DROP TABLE jobs; --", '" OR 1=1', '../../../etc/passwd', '${jndi:ldap://x}', '{{7*7}}', '$(id)', '<script>'],
  ...['__proto__', 'constructor', 'null', 'NaN', '-1', '1e309', '9223372036854775808', '2026-13-45T99:99:99Z'],
  ...['00000000-0000-0000-0000-000000000000', 'a'.repeat(64), 'a'.repeat(2_000), 'ä'.repeat(300), '\r\nX-Header: 1'],
];
const HOSTILE_NUMBERS = [0, -0, -1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, 2 ** 63, 5e-324];

/** Makes values from schemas whose references point into `root`. */
export class Values {
  readonly #dice: Dice;
  readonly #root: unknown;

  constructor(dice: Dice, root: unknown) {
    this.#dice = dice;
    this.#root = root;
  }

  /** One that the schema allows, as far as single fields say; rules between fields may forbid it. */
  of(schema: Schema, depth = 0): unknown {
    const dice = this.#dice;
    if (schema.$ref !== undefined) return this.of(this.#resolve(schema.$ref), depth);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return dice.pick(schema.enum);
    if (schema.examples !== undefined && schema.examples.length > 0) return dice.pick(schema.examples);
    const options = schema.anyOf ?? schema.oneOf;
    if (options !== undefined) return this.of(dice.pick(options), depth);
    if (schema.allOf !== undefined) return this.of(schema.allOf[0] ?? {}, depth);
    const type = typeof schema.type === 'string' || schema.type === undefined ? schema.type : dice.pick(schema.type);
    switch (type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return Array.from({ length: depth > MAX_DEPTH ? 0 : (schema.minItems ?? dice.below(3)) }, () =>
          this.of(schema.items ?? {}, depth + 1),
        );
      case 'integer':
        return Math.trunc(this.#number(schema));
      case 'number':
        return this.#number(schema);
      case 'boolean':
        return dice.chance(0.5);
      case 'null':
        return null;
      case 'string':
        return this.#text(schema);
      default:
        return this.hostile();
    }
  }

  /** Whatever no schema asks for. */
  hostile(): unknown {
    const dice = this.#dice;
    const kinds: readonly (() => unknown)[] = [
      () => dice.pick(HOSTILE_TEXTS),
      () => dice.pick(HOSTILE_NUMBERS),
      () => dice.pick([null, true, false, [], {}, [[]], [null], { '': null }]),
      () => nested(dice.pick([5, 31, 33, 200])),
      () => Array.from({ length: dice.pick([100, 10_000]) }, () => 'a'),
      () => ({ [dice.pick(HOSTILE_TEXTS)]: dice.pick(HOSTILE_TEXTS) }),
    ];
    return dice.pick(kinds)();
  }

  /** The value with something wrong in one place of it. */
  mutated(value: unknown): unknown {
    const dice = this.#dice;
    if (typeof value !== 'object' || value === null || dice.chance(0.1)) return this.hostile();
    if (Array.isArray(value)) {
      if (value.length === 0 || dice.chance(0.2)) return [...(value as unknown[]), this.hostile()];
      const at = dice.below(value.length);
      return value.map((item: unknown, index) => (index === at ? this.mutated(item) : item));
    }
    const entries = Object.entries(value);
    if (entries.length === 0 || dice.chance(0.15)) return { ...value, [dice.pick(HOSTILE_TEXTS)]: this.hostile() };
    const at = dice.below(entries.length);
    if (dice.chance(0.2)) return Object.fromEntries(entries.filter((_entry, index) => index !== at));
    return Object.fromEntries(entries.map(([key, inner], index) => [key, index === at ? this.mutated(inner) : inner]));
  }

  #object({ properties = {}, required = [] }: Schema, depth: number): Record<string, unknown> {
    const share = depth > 3 ? 0.1 : 0.4;
    const chosen = Object.entries(properties).filter(
      ([name]) => required.includes(name) || (depth < MAX_DEPTH && this.#dice.chance(share)),
    );
    return Object.fromEntries(chosen.map(([name, schema]) => [name, this.of(schema, depth + 1)]));
  }

  #number({ minimum = 0, maximum = 1_000 }: Schema): number {
    if (this.#dice.chance(0.2)) return this.#dice.pick([minimum, maximum]);
    return minimum + this.#dice.below(Math.min(maximum - minimum, 1_000) + 1);
  }

  #text({ format, minLength = 1, maxLength = 40 }: Schema): string {
    if (format === 'date-time') return new Date(Date.now() + this.#dice.below(1e9)).toISOString();
    if (format === 'uuid') return '3f1c2b9e-0000-4000-8000-000000000001';
    const length = Math.min(Math.max(minLength, 1 + this.#dice.below(12)), maxLength);
    return Array.from({ length }, () => this.#dice.pick([...'abcdefghijklmnopqrstuvwxyz'])).join('');
  }

  #resolve(reference: string): Schema {
    const found = reference
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((inside, key) => (inside as Record<string, unknown> | undefined)?.[key], this.#root);
    return (found ?? {}) as Schema;
  }
}

function nested(levels: number): unknown {
  return levels === 0 ? 1 : { a: nested(levels - 1) };
}
