import type { JobGoodput, JobIncident } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { lifeBarOf } from '../job/life-bar.ts';

/** Where the GPU time of a job went, from its creation until now, with its incidents on it. */
export function LifeBar({
  goodput,
  incidents,
}: {
  readonly goodput: JobGoodput;
  readonly incidents: readonly JobIncident[];
}): ReactNode {
  const { pieces, marks, legend, sentence } = lifeBarOf(goodput, incidents);
  return (
    <>
      <p>{sentence}</p>
      {pieces.length > 0 && (
        <>
          <div className="life-bar" role="img" aria-label={`The job’s life: ${sentence}`} data-testid="life-bar">
            {pieces.map(({ spent, left, width, label }) => (
              <span
                key={left}
                className={`spent-${spent}`}
                style={{ left: `${left}%`, width: `${width}%` }}
                title={label}
              />
            ))}
          </div>
          <div className="life-marks">
            {marks.map(({ id, left, label }) => (
              <a key={id} href={`#incident-${id}`} style={{ left: `${left}%` }} title={label} aria-label={label}>
                ▲
              </a>
            ))}
          </div>
          <div className="life-times">
            <time>{whenOf(goodput.spans[0]?.from)}</time>
            <time>{whenOf(goodput.spans.at(-1)?.to)}</time>
          </div>
        </>
      )}
      <ul className="life-legend">
        {legend.map(({ spent, words, time, share }) => (
          <li key={spent}>
            <span className={`swatch spent-${spent}`} aria-hidden="true" />
            {words} <strong>{share}</strong> <small>{time}</small>
          </li>
        ))}
      </ul>
    </>
  );
}

function whenOf(at: string | undefined): string {
  return at === undefined ? '' : new Date(at).toLocaleString();
}
