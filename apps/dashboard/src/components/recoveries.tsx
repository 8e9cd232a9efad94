import { type JobGoodput, RESTART_PHASES } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import type { ReactNode } from 'react';
import { phasesOf, restartBarsOf } from '../job/restart-bar.ts';

const SHOWN_STOPS = 8;

/** What passed from the last step before each failure to the next step, a bar per restart, newest first; and how long ranks stand still for a save. */
export function Recoveries({
  goodput: { recoveries = [], saveStops = [], secondsPerSave },
}: {
  readonly goodput: Pick<JobGoodput, 'recoveries' | 'saveStops' | 'secondsPerSave'>;
}): ReactNode {
  const bars = restartBarsOf(recoveries);
  return (
    <>
      {typeof secondsPerSave === 'number' && <p>On average, a save stops the ranks for {timeOf(secondsPerSave)}.</p>}
      {saveStops.length > 0 && (
        <p>
          The newest saves stopped the ranks for:{' '}
          {saveStops
            .slice(-SHOWN_STOPS)
            .map(({ step, seconds }) => `step ${step} ${timeOf(seconds)}`)
            .join(', ')}
          .
        </p>
      )}
      {bars.length > 0 && (
        <details data-testid="recoveries">
          <summary>From each failure to the next step</summary>
          <ul className="restarts">
            {bars.map(({ run, pieces, sentence }) => (
              <li key={run}>
                <strong>{run}</strong>
                <div className="restart-bar" role="img" aria-label={`Restart ${run}: ${sentence}`}>
                  {pieces.map(({ phase, left, width, label }) => (
                    <span
                      key={phase}
                      className={`phase-${phase}`}
                      style={{ left: `${left}%`, width: `${width}%` }}
                      title={label}
                    />
                  ))}
                </div>
                <small>{sentence}</small>
              </li>
            ))}
          </ul>
          <ul className="life-legend">
            {phasesOf(bars).map((phase) => (
              <li key={phase} title={RESTART_PHASES[phase]}>
                <span className={`swatch phase-${phase}`} aria-hidden="true" />
                {phase}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function timeOf(seconds: number): string {
  return formatDuration(seconds * 1000);
}
