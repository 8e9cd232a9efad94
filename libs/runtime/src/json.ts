/** Reads untyped JSON: a value of an unexpected shape counts as absent. */
export type Json = Readonly<Record<string, unknown>>;

const NOTHING: Json = {};

/** The value if it is an object, else an empty one. */
export function record(value: unknown): Json {
  return isRecord(value) ? value : NOTHING;
}

/** Whether the value is an object and no list. */
export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects in a list; empty for every other value. */
export function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The entries whose values are strings. */
export function texts(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
