const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};

/** The number that a Kubernetes quantity such as `500m`, `2Gi` or `1e3` stands for. NaN for anything else. */
export function parseQuantity(text: string): number {
  const match = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([KMGTPE]i|[numkMGTPE])?$/.exec(text);
  if (match === null) {
    return Number.NaN;
  }
  const suffix = match[2] ?? '';
  const power = BINARY.indexOf(suffix) + 1;
  return Number(match[1]) * (power > 0 ? 1024 ** power : (DECIMAL[suffix] ?? 1));
}
