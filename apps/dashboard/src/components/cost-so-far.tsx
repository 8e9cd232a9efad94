import type { JobCost } from '@coxswain/api-types';
import type { ReactNode } from 'react';

/** What the job cost so far; nothing where the administrator gave no price of its GPU. */
export function CostSoFar({ cost }: { readonly cost: JobCost | null }): ReactNode {
  if (cost === null) return null;
  return (
    <p data-testid="cost">
      Cost so far: <strong>{`${cost.amount.toFixed(2)} ${cost.currency}`}</strong>, by the administrator’s price list.
    </p>
  );
}
