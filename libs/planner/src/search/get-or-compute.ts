/** Returns the cached value of a key, or computes and caches it. The key must contain everything that the value depends on. */
export function getOrCompute<Key, Value extends NonNullable<unknown> | null>(
  known: Map<Key, Value>,
  key: Key,
  compute: () => Value,
): Value {
  const before = known.get(key);
  if (before !== undefined) return before;
  const value = compute();
  known.set(key, value);
  return value;
}
