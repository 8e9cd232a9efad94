import type { ReactNode } from 'react';

/** Facts by name, one below the other. `className`: how wide they are and how they stand out. */
export function FactList({
  className,
  facts,
}: {
  readonly className: 'facts' | 'evidence';
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}): ReactNode {
  return (
    <dl className={className}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
