/** A value of a file that somebody wrote for another system, and the path where it stands. Every read is checked: a file may hold anything. */
import { ImportError } from './import-error.ts';

/** Deeper than any manifest, and far from the end of the stack. */
const MAX_DEPTH = 64;

/** A value of an imported file with its path. Reading an absent field returns a Source whose value is undefined. */
export class Source {
  readonly path: string;
  readonly value: unknown;

  constructor(value: unknown, path = '') {
    this.value = value ?? undefined;
    this.path = path;
  }

  get isThere(): boolean {
    return this.value !== undefined;
  }

  /** The value of a key; not there where this is not there. */
  at(...keys: readonly string[]): Source {
    return keys.reduce<Source>((here, key) => here.#child(key), this);
  }

  /** Keys and values of a map; none where it is not there. */
  entries(): readonly (readonly [string, Source])[] {
    return Object.keys(this.#map() ?? {}).map((key) => [key, this.#child(key)]);
  }

  /** Items of a list; none where it is not there. */
  items(): readonly Source[] {
    if (!this.isThere) return [];
    if (!Array.isArray(this.value)) throw this.#not('a list');
    return this.value.map((item: unknown, index) => new Source(item, `${this.path}[${index}]`));
  }

  text(): string | undefined {
    if (this.isThere && typeof this.value !== 'string') throw this.#not('a text; put it in quotes');
    return this.value as string | undefined;
  }

  /** A text, or a number as Kubernetes takes it for a quantity or a port. */
  textOrNumber(): string | undefined {
    return typeof this.value === 'number' ? String(this.value) : this.text();
  }

  flag(): boolean | undefined {
    if (this.isThere && typeof this.value !== 'boolean') throw this.#not('true or false');
    return this.value as boolean | undefined;
  }

  count(): number | undefined {
    if (this.isThere && !(Number.isSafeInteger(this.value) && Number(this.value) >= 0))
      throw this.#not('a whole number from 0');
    return this.value as number | undefined;
  }

  #map(): Readonly<Record<string, unknown>> | undefined {
    if (!this.isThere) return undefined;
    if (typeof this.value !== 'object' || Array.isArray(this.value)) throw this.#not('a map');
    return this.value as Readonly<Record<string, unknown>>;
  }

  #child(key: string): Source {
    const map = this.#map();
    const value = map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
    const step = /^[A-Za-z_][\w-]*$/.test(key) ? `.${key}` : `["${key}"]`;
    return new Source(value, this.path === '' ? step.replace(/^\./, '') : `${this.path}${step}`);
  }

  #not(what: string): ImportError {
    return new ImportError(`${this.path === '' ? 'The document' : this.path} must be ${what}.`);
  }
}

/** The parts of a value: fields of a map, items of a list; none of anything else. */
export function partsOf(source: Source): readonly Source[] {
  if (Array.isArray(source.value)) return source.items();
  if (typeof source.value === 'object') return source.entries().map(([, part]) => part);
  return [];
}

/** Refuses what is nested without end, as anchors of YAML can be, before anybody walks through it. */
export function requireBounded(source: Source, depth = 0): void {
  if (depth > MAX_DEPTH)
    throw new ImportError(
      `${source.path.slice(0, 100)}… is nested more than ${MAX_DEPTH} levels deep; no manifest is. Write out what its anchors stand for.`,
    );
  for (const part of partsOf(source)) requireBounded(part, depth + 1);
}
