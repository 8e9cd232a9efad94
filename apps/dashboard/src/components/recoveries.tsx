import { type JobGoodput, type JobRecovery, nameOfRun } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import type { ReactNode } from 'react';

/** What passed from each failure to the next step, newest first, and how long ranks stand still for a save. */
export function Recoveries({
  goodput: { recoveries = [], secondsPerSave },
}: {
  readonly goodput: Pick<JobGoodput, 'recoveries' | 'secondsPerSave'>;
}): ReactNode {
  return (
    <>
      {typeof secondsPerSave === 'number' && <p>On average, a save stops the ranks for {timeOf(secondsPerSave)}.</p>}
      {recoveries.length > 0 && (
        <details data-testid="recoveries">
          <summary>From each failure to the next step</summary>
          <table>
            <thead>
              <tr>
                {['Attempt', 'Last step', 'From step', 'Noticed', 'Nodes', 'Ranks', 'Loaded', 'Stepped', 'In all'].map(
                  (name) => (
                    <th key={name} className="number">
                      {name}
                    </th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {recoveries.toReversed().map((recovery) => (
                <tr key={nameOfRun(recovery.epoch, recovery.incarnation)}>
                  {cellsOf(recovery).map((text, index) => (
                    <td key={index} className="number">
                      {text}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </>
  );
}

function cellsOf(recovery: JobRecovery): readonly string[] {
  const { epoch, incarnation, lastStep, resumedFromStep } = recovery;
  const { noticing, waiting, starting, loading, stepping, total } = recovery;
  return [
    nameOfRun(epoch, incarnation),
    `${lastStep ?? '–'}`,
    `${resumedFromStep}`,
    ...[noticing, waiting, starting, loading, stepping, total].map((seconds) =>
      seconds === null ? '–' : timeOf(seconds),
    ),
  ];
}

function timeOf(seconds: number): string {
  return formatDuration(seconds * 1000);
}
