/**
 * What a piece of a slab costs the switch that it lies on, in weighted bytes, by level and by units of the piece. A slab is one of the equal parts
 * of the gang's grid along some of its axes, such as the ranks of one stage.
 */
export type SlabPrices = readonly Float64Array[];

/** The most that any way of cutting one slab into pieces brings in, and a cut that does. */
export interface DearestCut {
  readonly price: number;
  /** Pieces by level and size, as the prices are. */
  readonly pieces: readonly Int32Array[];
}

/**
 * Each level cuts the pieces of the level above it further, down to NVLink domains; no piece is larger than the roomiest switch of its level. Levels
 * without prices where `largest` is infinite cut nothing.
 */
export function dearestCut(prices: SlabPrices, largest: readonly number[], slabUnits: number): DearestCut {
  let inside = new Float64Array(slabUnits + 1);
  const first: Int32Array[] = [];
  prices.forEach((ofLevel, level) => {
    if (largest[level] === Infinity) {
      first.push(Int32Array.from(inside, (_, units) => units));
      return;
    }
    const best = new Float64Array(slabUnits + 1).fill(-Infinity);
    const piece = new Int32Array(slabUnits + 1);
    best[0] = 0;
    for (let units = 1; units <= slabUnits; units++) {
      for (let size = 1; size <= Math.min(units, largest[level] ?? 1); size++) {
        const price = (best[units - size] ?? 0) + (ofLevel[size] ?? 0) + (inside[size] ?? 0);
        if (price <= (best[units] ?? 0)) continue;
        best[units] = price;
        piece[units] = size;
      }
    }
    first.push(piece);
    inside = best;
  });
  return { price: inside[slabUnits] ?? 0, pieces: piecesOf(first, slabUnits) };
}

/** Operations of {@link dearestCut}. */
export function cutOperations(largest: readonly number[], slabUnits: number): number {
  return largest
    .filter((room) => room !== Infinity)
    .reduce((sum, room) => sum + slabUnits * Math.min(room, slabUnits), 0);
}

function piecesOf(first: readonly Int32Array[], slabUnits: number): readonly Int32Array[] {
  const counts = first.map(() => new Int32Array(slabUnits + 1));
  const cut = (level: number, units: number): void => {
    const ofLevel = counts[level];
    if (ofLevel === undefined) return;
    for (let left = units; left > 0;) {
      const size = first[level]?.[left] ?? left;
      ofLevel[size] = (ofLevel[size] ?? 0) + 1;
      cut(level - 1, size);
      left -= size;
    }
  };
  cut(first.length - 1, slabUnits);
  return counts;
}
