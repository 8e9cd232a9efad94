/** Describes the first of these files that a save misses; undefined if it has all of them. */
export function firstMissing(paths: ReadonlySet<string>, wanted: readonly string[]): string | undefined {
  const missing = wanted.find((path) => !paths.has(path));
  return missing === undefined ? undefined : `it has no ${missing}`;
}
