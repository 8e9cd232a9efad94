/** Reading of what somebody wrote freely: whatever is not of the expected shape counts as absent. */
export type Json = Readonly<Record<string, unknown>>;

const NOTHING: Json = {};

export function record(value: unknown): Json {
  return isRecord(value) ? value : NOTHING;
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Its entries whose values are texts. */
export function texts(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
