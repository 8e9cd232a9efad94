/** What was computed for a key before; else it is computed now and kept. Keys must name everything that the value depends on. */
export function remembered<Key, Value extends NonNullable<unknown> | null>(
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
