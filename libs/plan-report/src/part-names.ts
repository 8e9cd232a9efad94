/** Labels and colours of the parts of a prediction, the same in tables and reports. */
export interface PartStyle {
  readonly label: string;
  /** Colours on a light and on a dark page. */
  readonly light: string;
  readonly dark: string;
}

const style = (label: string, light: string, dark: string): PartStyle => ({ label, light, dark });

/** Blue and green: computing; violet: computing twice; orange and red: waiting for a network; grey: neither. */
const STYLES: ReadonlyMap<string, PartStyle> = new Map([
  ['matrixProducts', style('matrix products', '#1d4ed8', '#5b9cff')],
  ['attention', style('attention', '#0e7490', '#22c3de')],
  ['memoryBound', style('norms and activations', '#0d9488', '#2dd4bf')],
  ['vocabulary', style('vocabulary and loss', '#4d7c0f', '#a3d94a')],
  ['routing', style('expert routing', '#15803d', '#4ade80')],
  ['recompute', style('recomputation', '#7c3aed', '#b794ff')],
  ['launch', style('kernel launches', '#64748b', '#94a3b8')],
  ['tensorTraffic', style('tensor-parallel traffic', '#c2410c', '#fb923c')],
  ['contextTraffic', style('context-parallel traffic', '#a16207', '#fbbf24')],
  ['expertTraffic', style('expert all-to-all', '#b91c1c', '#f87171')],
  ['shardTraffic', style('gathering sharded weights', '#be185d', '#f472b6')],
  ['dataTraffic', style('data-parallel traffic', '#9d174d', '#f9a8d4')],
  ['offload', style('offloading', '#86198f', '#e879f9')],
  ['bubble', style('pipeline bubble', '#b6c2d1', '#43536d')],
  ['optimizer', style('optimizer', '#334155', '#cbd5e1')],
  ['fixed', style('fixed work and jitter', '#78716c', '#a8a29e')],
  ['weights', style('weights', '#1d4ed8', '#5b9cff')],
  ['gradients', style('gradients', '#0e7490', '#22c3de')],
  ['activations', style('activations', '#c2410c', '#fb923c')],
  ['backward', style('gradients of activations', '#7c3aed', '#b794ff')],
  ['recomputation', style('recomputation workspace', '#7c3aed', '#b794ff')],
  ['gathered', style('gathered weights', '#be185d', '#f472b6')],
  ['workspace', style('optimizer and kernel workspace', '#64748b', '#94a3b8')],
  ['context', style('driver and communicators', '#78716c', '#a8a29e')],
  ['allocator', style('allocator slack', '#b6c2d1', '#43536d')],
]);

/** Styles for unknown parts, by position. */
const SPARE: readonly PartStyle[] = [
  style('', '#0369a1', '#38bdf8'),
  style('', '#a16207', '#fbbf24'),
  style('', '#6d28d9', '#c4b5fd'),
  style('', '#475569', '#94a3b8'),
];

/** Name and colours of a part of a step or of memory; `index` is its place among the parts shown. */
export function styleOfPart(part: string, index = 0): PartStyle {
  const known = STYLES.get(part);
  if (known !== undefined) return known;
  const spare = SPARE[index % SPARE.length] ?? style('', '#475569', '#94a3b8');
  return { ...spare, label: labelOfPart(part) };
}

/** The label of a part such as `dataTraffic`; unknown names are split at their capitals. */
export function labelOfPart(part: string): string {
  return (
    STYLES.get(part)?.label ??
    part
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .replace(/[-_]/g, ' ')
      .toLowerCase()
  );
}
