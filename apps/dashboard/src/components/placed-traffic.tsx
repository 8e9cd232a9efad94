import type { RankTraffic } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { trafficRows } from '../job/traffic-words.ts';

/** What the placement sends per step over each boundary of the fabric; nothing where ranks send each other nothing. */
export function PlacedTraffic({ traffic }: { readonly traffic: RankTraffic }): ReactNode {
  const rows = trafficRows(traffic);
  if (rows.length === 0) return null;
  return (
    <table className="traffic" data-testid="traffic">
      <caption>
        {traffic.source === 'assumed'
          ? 'Sent per step by a large model on this layout. The job names no model (spec.model), so compare the rows, not the bytes.'
          : 'Sent per step, counted from the layout.'}{' '}
        What crosses a boundary crosses all nearer ones.
      </caption>
      <tbody>
        {rows.map(({ where, bytes, share }) => (
          <tr key={where}>
            <th scope="row">{where}</th>
            <td className="number">{bytes}</td>
            <td>
              <span className="share" aria-hidden="true">
                <span style={{ width: `${100 * share}%` }} />
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
