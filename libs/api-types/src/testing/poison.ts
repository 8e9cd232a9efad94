/** Objects of the cluster in which any place holds something else: written by another release, or by somebody who forges them. */
import fc from 'fast-check';

const junkOf = (depth: number): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constantFrom<unknown>(
      null,
      '',
      'x',
      '7',
      -1,
      0,
      0.5,
      1e308,
      2 ** 53,
      true,
      [],
      {},
      [null],
      [[]],
      [7, 'x', {}],
      'never',
    ),
    fc.constant(nested(depth)),
    fc.constant(Array.from({ length: 5_000 }, () => ({ epoch: 1, type: 'Placed' }))),
    fc.jsonValue({ maxDepth: 2 }),
  );

/** A real value in which some places hold something else, nested up to `depth`; sometimes something else as a whole. */
export function poisoned(value: object, { depth = 2_000 } = {}): fc.Arbitrary<unknown> {
  const junk = junkOf(depth);
  const changes = fc.array(fc.tuple(fc.constantFrom(...pathsOf(value)), junk), { minLength: 1, maxLength: 4 });
  const spoilt = changes.map((all) =>
    all.reduce((current, [path, put]) => changedAt(current, path, put), value as unknown),
  );
  return fc.oneof({ weight: 9, arbitrary: spoilt }, { weight: 1, arbitrary: junk });
}

/** Every place of a value, by its keys from the root. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return path.length === 0 ? [] : [path];
  const inner = Object.entries(value).flatMap(([key, one]) => pathsOf(one, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

function changedAt(value: unknown, [key, ...rest]: readonly string[], put: unknown): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) return put;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
  copy[key] = rest.length === 0 ? put : changedAt(copy[key], rest, put);
  return copy;
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
}

/** For `fc.assert`: a counterexample can be too deep to be written out, so what failed is thrown by itself. Its seed and path say which one it was. */
export function reportCause(run: {
  readonly failed: boolean;
  readonly errorInstance: unknown;
  readonly seed: number;
  readonly counterexamplePath: string | null;
}): void {
  const { failed, errorInstance, seed, counterexamplePath } = run;
  if (failed) throw new Error(`seed ${seed}, path ${counterexamplePath}`, { cause: errorInstance });
}
