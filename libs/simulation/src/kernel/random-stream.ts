/**
 * Random numbers that a simulation can repeat: xoshiro128** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4),
 * 2021, figure of the 32-bit generator), seeded with splitmix32 over the seed and the stream's name.
 *
 * Each process draws from a stream of its own, by name: one that is added, or that draws more often, shifts no other.
 */
export class RandomStream {
  readonly #state: Uint32Array<ArrayBuffer>;

  /** `seed`: any integer. */
  constructor(seed: number, name: string) {
    this.#state = initialState(seed, name);
  }

  /** In [0, 1), of 53 bits. */
  uniform(): number {
    return ((this.#next() >>> 5) * 2 ** 26 + (this.#next() >>> 6)) / 2 ** 53;
  }

  /** Of 0, 1, ... `count` - 1. */
  index(count: number): number {
    return Math.floor(this.uniform() * count);
  }

  /** Whether something of that probability happens. */
  happens(probability: number): boolean {
    return this.uniform() < probability;
  }

  #next(): number {
    const [s0 = 0, s1 = 0, s2 = 0, s3 = 0] = this.#state;
    const result = Math.imul(rotated(Math.imul(s1, 5), 7), 9) >>> 0;
    const mixed2 = s2 ^ s0;
    const mixed3 = s3 ^ s1;
    this.#state[1] = s1 ^ mixed2;
    this.#state[0] = s0 ^ mixed3;
    this.#state[2] = mixed2 ^ (s1 << 9);
    this.#state[3] = rotated(mixed3, 11);
    return result;
  }
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function initialState(seed: number, name: string): Uint32Array<ArrayBuffer> {
  let mixed = hashOf(name) ^ Math.imul(seed, 0x9e3779b1);
  const state = Uint32Array.from({ length: 4 }, () => {
    mixed = (mixed + 0x9e3779b9) | 0;
    let word = mixed ^ (mixed >>> 16);
    word = Math.imul(word, 0x21f0aaad);
    word ^= word >>> 15;
    word = Math.imul(word, 0x735a2d97);
    return word ^ (word >>> 15);
  });
  // The generator never leaves the state of zeroes.
  if (state.every((word) => word === 0)) state[0] = 1;
  return state;
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
