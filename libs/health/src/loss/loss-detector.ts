/** Is the loss, or the norm of gradients, no number or far from what it was? */
import type { HealthSettings } from '../settings.ts';
import { median } from '../slow/robust.ts';
import type { TraceRecord } from '../trace/records.ts';
import { type Verdict, verdictOf } from '../verdict/verdict.ts';

export interface LossDetector {
  readonly observe: (record: Exclude<TraceRecord, { kind: 'group' }>) => readonly Verdict[];
}

export function lossDetector({ loss }: HealthSettings): LossDetector {
  const histories = { loss: [] as number[], gradNorm: [] as number[] };
  let toldStep = -1;
  return {
    observe: (record) => {
      if (record.kind !== 'step') return [];
      for (const field of ['loss', 'gradNorm'] as const) {
        const value = record[field];
        if (value === null) continue;
        const history = histories[field];
        const usual = history.length >= loss.leastHistory ? median(history) : undefined;
        const isNumber = typeof value === 'number';
        if (isNumber && !(usual !== undefined && value > loss.jump * usual)) {
          history.push(value);
          if (history.length > loss.history) history.shift();
          continue;
        }
        if (record.step <= toldStep) continue;
        toldStep = record.step;
        return [
          verdictOf(
            {
              kind: 'badLoss',
              atMs: record.atMs,
              ranks: [],
              message: isNumber
                ? `Step ${record.step}: ${field} is ${value}, more than ${loss.jump} times its median ${usual?.toPrecision(4)}. Pause, and try once more from the last checkpoint.`
                : `Step ${record.step}: ${field} is ${value}. Pause, and try once more from the last checkpoint.`,
              evidence: { field, value, step: record.step, ...(usual === undefined ? {} : { usual }) },
              confidence: isNumber ? 0.8 : 1,
              action: 'stop',
            },
            () => undefined,
          ),
        ];
      }
      return [];
    },
  };
}
