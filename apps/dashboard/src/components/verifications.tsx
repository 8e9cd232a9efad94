import type { CheckpointVerification } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';
import type { ReactNode } from 'react';
import { ofVerification } from '../checkpoints/format-verdict.ts';
import { Time } from './time.tsx';
import { VerdictLegend, VerdictPill } from './verdict-pill.tsx';

/** What each verification of a checkpoint found, the newest first. */
export function Verifications({ history }: { readonly history: readonly CheckpointVerification[] }): ReactNode {
  if (history.length === 0) return <p className="empty">No verification has read its files yet.</p>;
  return (
    <>
      <table>
        <thead>
          <tr>
            <th>Verdict</th>
            <th>When</th>
            <th>By</th>
            <th className="number">Read</th>
          </tr>
        </thead>
        <tbody>
          {history.map((one) => (
            <VerificationRows key={`${one.at} ${one.level} ${one.by}`} verification={one} />
          ))}
        </tbody>
      </table>
      <VerdictLegend />
    </>
  );
}

function VerificationRows({ verification }: { readonly verification: CheckpointVerification }): ReactNode {
  const { at, by, node, readBytes, findings } = verification;
  return (
    <>
      <tr>
        <td>
          <VerdictPill verdict={ofVerification(verification)} />
        </td>
        <td>
          <Time at={at} />
        </td>
        <td>
          {by === 'Launcher' ? 'the launcher, at its save' : 'a pod'}
          {node !== undefined && <small>on {node}</small>}
        </td>
        <td className="number nowrap">{formatBytes(readBytes)}</td>
      </tr>
      {findings.length > 0 && (
        <tr className="message">
          <td colSpan={4}>
            <ul className="findings">
              {findings.map(({ kind, message }, index) => (
                <li key={index}>
                  <strong>{kind}:</strong> {message}
                </li>
              ))}
            </ul>
          </td>
        </tr>
      )}
    </>
  );
}
