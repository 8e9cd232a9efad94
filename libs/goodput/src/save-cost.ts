/** How long did ranks stand still for a save? The only home of this measure: the ledger, goodput and the save interval read it here. */
import type { Attempt } from '@coxswain/api-types';

/** Checkpoints saved between reported steps, and the time between these steps in all. */
export interface SaveCost {
  readonly saves: number;
  readonly ms: number;
}

/** What one attempt measured; undefined: it recorded no pace. */
export function saveCostOf({ pace }: Pick<Attempt, 'pace'>): SaveCost | undefined {
  return pace === undefined ? undefined : { saves: pace.saves, ms: pace.betweenStepsMs };
}

/** Of several attempts. The time between the steps of an attempt that saved nothing is no cost of saves. */
export function totalSaveCost(costs: readonly (SaveCost | undefined)[]): SaveCost {
  return costs.reduce<SaveCost>(
    (sum, cost) =>
      cost === undefined || cost.saves === 0 ? sum : { saves: sum.saves + cost.saves, ms: sum.ms + cost.ms },
    { saves: 0, ms: 0 },
  );
}

/** Milliseconds that a save stopped the ranks, on average; undefined: none was measured, or it took less than reports of steps show. */
export function msPerSave({ saves, ms }: SaveCost): number | undefined {
  return saves === 0 || ms === 0 ? undefined : ms / saves;
}
