/** How many spare nodes does a job need? */

/**
 * The fewest that are enough with a probability of 0.99, where each of `nodes` fails with `probability` before a lost one is replaced (ByteRobust, arXiv
 * 2509.16293: binomial, failures independent).
 */
export function standbyNodes(nodes: number, probability: number): number {
  let term = (1 - probability) ** nodes;
  let sum = term;
  for (let spares = 0; spares < nodes; spares++) {
    if (sum >= QUANTILE) return spares;
    term *= ((nodes - spares) / (spares + 1)) * (probability / (1 - probability));
    sum += term;
  }
  return nodes;
}

const QUANTILE = 0.99;
