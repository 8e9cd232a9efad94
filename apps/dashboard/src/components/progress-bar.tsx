import type { ReactNode } from 'react';

export function ProgressBar({
  value,
  total,
  label,
}: {
  readonly value: number;
  readonly total: number;
  readonly label: string;
}): ReactNode {
  return <progress className="progress" value={value} max={total} aria-label={label} />;
}
