import type { MeasuredPrediction } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { scatterOf } from '../plans/scatter.ts';

const SIZE = 320;
const MARGIN = 44;
const TOP = 24;

/** Each prediction against what was measured, both on logarithmic axes; on the line they are equal, between the dashes within 20 %. */
export function PredictionScatter({ items }: { readonly items: readonly MeasuredPrediction[] }): ReactNode {
  const { points, ticks, at } = scatterOf(items, { from: MARGIN, to: SIZE - TOP });
  const up = (x: number): number => SIZE - x;
  const [low, high] = [MARGIN, SIZE - TOP];
  const band = at.shift(1.2);
  return (
    <svg
      className="scatter"
      viewBox={`0 0 ${SIZE} ${SIZE}`}
      role="img"
      aria-label="Predicted against measured step times"
    >
      {ticks.map(({ label, position }) => (
        <g key={label} className="tick">
          <line x1={position} x2={position} y1={up(low)} y2={up(high)} />
          <line y1={up(position)} y2={up(position)} x1={low} x2={high} />
          <text x={position} y={up(low) + 14} textAnchor="middle">
            {label}
          </text>
          <text x={low - 4} y={up(position) + 4} textAnchor="end">
            {label}
          </text>
        </g>
      ))}
      <line className="equal" x1={low} y1={up(low)} x2={high} y2={up(high)} />
      <line className="within" x1={low} y1={up(low + band)} x2={high - band} y2={up(high)} />
      <line className="within" x1={low + band} y1={up(low)} x2={high} y2={up(high - band)} />
      {points.map(({ item, x, y }) => (
        <circle key={`${item.jobId}/${item.epoch}`} cx={x} cy={up(y)} r="4">
          <title>{`${item.name}, attempt ${item.epoch}: ${item.errorPct.toFixed(1)} %`}</title>
        </circle>
      ))}
      <text x={high} y={SIZE - 6} textAnchor="end">
        measured →
      </text>
      <text x={low} y={up(high) - 6} textAnchor="middle">
        ↑ predicted
      </text>
    </svg>
  );
}
