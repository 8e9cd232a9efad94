/** How is a job's life drawn as one bar, and where on it are its incidents? */
import {
  type GoodputSpan,
  goodputWords,
  incidentSubject,
  type JobGoodput,
  type JobIncident,
} from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';

/** A piece of the bar; positions in percent of its width. */
export interface BarPiece {
  readonly spent: GoodputSpan['spent'];
  readonly left: number;
  readonly width: number;
  readonly label: string;
}

export interface BarMark {
  readonly id: string;
  readonly left: number;
  readonly label: string;
}

export interface LegendRow {
  readonly spent: GoodputSpan['spent'];
  readonly words: string;
  readonly time: string;
  readonly share: string;
}

export interface LifeBar {
  readonly pieces: readonly BarPiece[];
  readonly marks: readonly BarMark[];
  readonly legend: readonly LegendRow[];
  /** The whole of it in one sentence, for who does not see the bar. */
  readonly sentence: string;
}

/** Nothing has a place on it before the job held GPUs or waited for some. */
export function lifeBarOf(goodput: JobGoodput, incidents: readonly JobIncident[]): LifeBar {
  const fromMs = Date.parse(goodput.spans[0]?.from ?? '');
  const toMs = Date.parse(goodput.spans.at(-1)?.to ?? '');
  const percentOf = (ms: number): number => Math.min(100, Math.max(0, (100 * (ms - fromMs)) / (toMs - fromMs)));
  const isDrawn = toMs > fromMs;
  const pieces = !isDrawn
    ? []
    : goodput.spans.map(({ from, to, spent, gpus }) => {
        const left = percentOf(Date.parse(from));
        const time = formatDuration(Math.max(0, Date.parse(to) - Date.parse(from)));
        const held = gpus === 0 ? '' : `, ${gpus} GPU${gpus === 1 ? '' : 's'}`;
        return {
          spent,
          left,
          width: percentOf(Date.parse(to)) - left,
          label: `${goodputWords(spent)}: ${time}${held}`,
        };
      });
  const marks = !isDrawn
    ? []
    : incidents.map((incident) => ({
        id: incident.id,
        left: percentOf(Date.parse(incident.noticedAt)),
        label: incidentSubject(incident),
      }));
  return { pieces, marks, legend: legendOf(goodput), sentence: sentenceOf(goodput, incidents.length) };
}

function legendOf({ shares, waitingSeconds, suspendedSeconds }: JobGoodput): readonly LegendRow[] {
  const held = shares
    .filter(({ gpuSeconds }) => gpuSeconds > 0)
    .map(({ category, gpuSeconds, share }) => ({
      spent: category,
      words: goodputWords(category),
      time: `${formatDuration(1000 * gpuSeconds)} of GPU time`,
      share: `${(100 * share).toFixed(1)} %`,
    }));
  const idle = [
    ['waiting', waitingSeconds],
    ['suspended', suspendedSeconds],
  ] as const;
  const without = idle
    .filter(([, seconds]) => seconds > 0)
    .map(([spent, seconds]) => ({
      spent,
      words: spent,
      time: `${formatDuration(1000 * seconds)} without GPUs`,
      share: '',
    }));
  return [...held, ...without];
}

function sentenceOf({ goodput, gpuSeconds }: JobGoodput, incidents: number): string {
  const count = incidents === 0 ? 'no incidents' : `${incidents} incident${incidents === 1 ? '' : 's'}`;
  if (goodput === null) return `The job has held no GPUs yet; ${count}.`;
  const share = `${(100 * goodput).toFixed(1)} %`;
  return `${share} of ${formatDuration(1000 * gpuSeconds)} of GPU time were productive steps; ${count}.`;
}
