/** Seeded draws: mulberry32, and normal ones by Box and Muller. */
export interface Random {
  readonly uniform: () => number;
  readonly normal: () => number;
  readonly below: (count: number) => number;
}

export function randomOf(seed: number): Random {
  let state = (seed * 2_654_435_761) >>> 0;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal, below: (count) => Math.floor(uniform() * count) };
}
