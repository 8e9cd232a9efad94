/** How long does it take until something happens, or how large is it? Each draws one value from a stream. */
import type { RandomStream } from './random-stream.ts';

/** Of that mean; memoryless. An infinite mean never ends. */
export function exponential(stream: RandomStream, mean: number): number {
  return -mean * Math.log(1 - stream.uniform());
}

/** Shape below 1: the hazard falls with age, as of a fleet in its first weeks. */
export function weibull(stream: RandomStream, { scale, shape }: { scale: number; shape: number }): number {
  return scale * (-Math.log(1 - stream.uniform())) ** (1 / shape);
}

/** `sigma`: of the logarithm. */
export function logNormal(stream: RandomStream, { median, sigma }: { median: number; sigma: number }): number {
  return median * Math.exp(sigma * standardNormal(stream));
}

/** A distribution truncated to `least` and `most`: a value outside is drawn again, and after a hundred draws replaced by the nearer bound. */
export function logNormalWithin(
  stream: RandomStream,
  about: { readonly median: number; readonly sigma: number },
  [least, most]: readonly [least: number, most: number],
): number {
  let drawn = logNormal(stream, about);
  for (let again = 1; again < 100 && (drawn < least || drawn > most); again += 1) drawn = logNormal(stream, about);
  return Math.min(most, Math.max(least, drawn));
}

/** By Marsaglia and Tsang ("A simple method for generating gamma variables", ACM TOMS 26(3), 2000); below shape 1 by their boost. */
export function gamma(stream: RandomStream, { shape, mean }: { shape: number; mean: number }): number {
  const isSmall = shape < 1;
  const d = (isSmall ? shape + 1 : shape) - 1 / 3;
  const boost = isSmall ? (1 - stream.uniform()) ** (1 / shape) : 1;
  for (;;) {
    const x = standardNormal(stream);
    const v = (1 + x / Math.sqrt(9 * d)) ** 3;
    const u = 1 - stream.uniform();
    if (v > 0 && Math.log(u) < x ** 2 / 2 + d - d * v + d * Math.log(v)) return (boost * d * v * mean) / shape;
  }
}

/** By Box and Muller; the second of the pair is not kept, so that a value takes as many draws each time. */
function standardNormal(stream: RandomStream): number {
  const radius = Math.sqrt(-2 * Math.log(1 - stream.uniform()));
  return radius * Math.cos(2 * Math.PI * stream.uniform());
}
