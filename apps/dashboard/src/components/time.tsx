import type { ReactNode } from 'react';

/** The time of day, with the date when it was not today; all of it under the pointer. */
export function Time({ at }: { readonly at: string }): ReactNode {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? '' : `${date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })}, `;
  return (
    <time dateTime={at} title={date.toLocaleString()}>
      {day}
      {date.toLocaleTimeString()}
    </time>
  );
}
