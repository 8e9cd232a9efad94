/** Holds the seed of a run that is to look elsewhere. */
export const PROPERTY_SEED_VARIABLE = 'COXSWAIN_PROPERTY_SEED';

/** The seed of every run, unless another is given. Any number does; with this one each property reaches its cases. */
const USUAL_SEED = 1;

/** The seed that a variable's text names: a whole number of 32 bits. Throws an Error that says so for every other text. */
export function propertySeed(text: string | undefined): number {
  if (text === undefined || text === '') return USUAL_SEED;
  const seed = Number(text);
  if (!Number.isInteger(seed) || seed !== (seed | 0)) {
    throw new Error(`a seed of properties is a whole number from -2147483648 to 2147483647, not "${text}"`);
  }
  return seed;
}

/** A seed that nobody chose. */
export function chanceSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}
