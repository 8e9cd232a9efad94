/** Asks at the first call, and answers the same at all later ones. */
export function once<T>(ask: () => T): () => T {
  let answer: { readonly value: T } | undefined;
  return () => (answer ??= { value: ask() }).value;
}
