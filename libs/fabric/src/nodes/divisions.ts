/** Four corners of a contradiction between two ways to divide things: the first joins `joined` and divides `divided`, the second does the opposite. */
interface Crossing<T> {
  readonly joined: readonly [T, T];
  readonly divided: readonly [T, T];
}

/**
 * Where two ways to divide the same things contradict each other; undefined where one is only finer than the other. Names are not compared: things are
 * together or apart. Things that either leaves undivided say nothing.
 */
export function crossingOf<T>(
  things: readonly T[],
  one: (thing: T) => string | undefined,
  other: (thing: T) => string | undefined,
): Crossing<T> | undefined {
  const joined = firstDivided(things, one, other);
  const divided = firstDivided(things, other, one);
  return joined === undefined || divided === undefined ? undefined : { joined, divided };
}

/** Two things that `one` joins and `other` divides. */
function firstDivided<T>(
  things: readonly T[],
  one: (thing: T) => string | undefined,
  other: (thing: T) => string | undefined,
): readonly [T, T] | undefined {
  const first = new Map<string, { readonly thing: T; readonly part: string }>();
  for (const thing of things) {
    const whole = one(thing);
    const part = other(thing);
    if (whole === undefined || part === undefined) continue;
    const seen = first.get(whole);
    if (seen === undefined) first.set(whole, { thing, part });
    else if (seen.part !== part) return [seen.thing, thing];
  }
  return undefined;
}
