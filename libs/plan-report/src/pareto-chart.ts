import type { Plan } from '@coxswain/planner';
import { formatDegrees } from './describe-plan.ts';
import { formatGib, formatSeconds } from './figures.ts';
import { markup, type Markup } from './markup.ts';

const WIDTH = 440;
const HEIGHT = 250;
const LEFT = 48;
const RIGHT = 14;
const TOP = 14;
const BOTTOM = 38;

/** Step time against peak memory of the Pareto front and the best plans; the fewer GPUs, the smaller the mark. */
export function paretoChart(pareto: readonly Plan[], plans: readonly Plan[], capacityGib: number): Markup {
  const all = [...pareto, ...plans];
  const x = scale(
    all.map((plan) => plan.prediction.stepTimeS),
    { from: LEFT, to: WIDTH - RIGHT },
  );
  const y = scale([...all.map((plan) => plan.prediction.peakGib), capacityGib], { from: HEIGHT - BOTTOM, to: TOP });
  const mostGpus = Math.max(...all.map((plan) => plan.gpus));
  const mark = (plan: Plan, kind: string): Markup => {
    const { stepTimeS, peakGib } = plan.prediction;
    const radius = 3 + 3 * Math.sqrt(plan.gpus / mostGpus);
    const label = `${formatDegrees(plan)} on ${plan.gpus} GPUs: ${formatSeconds(stepTimeS)}, ${formatGib(peakGib)}`;
    return markup`<circle class="${kind}" cx="${x.at(stepTimeS).toFixed(1)}" cy="${y.at(peakGib).toFixed(1)}" r="${radius.toFixed(1)}"><title>${label}</title></circle>`;
  };
  return markup`<svg class="scatter" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="pareto-title pareto-desc">
<title id="pareto-title">Step time against memory</title>
<desc id="pareto-desc">${pareto.length} layouts that no other beats in time, memory and GPUs at once, and the ${plans.length} best by the objective.</desc>
${x.ticks.map(
  (
    tick,
  ) => markup`<line class="grid" x1="${x.at(tick).toFixed(1)}" x2="${x.at(tick).toFixed(1)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"></line>
<text class="tick" x="${x.at(tick).toFixed(1)}" y="${HEIGHT - BOTTOM + 14}" text-anchor="middle">${shortNumber(tick)}</text>`,
)}${y.ticks.map(
    (
      tick,
    ) => markup`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y.at(tick).toFixed(1)}" y2="${y.at(tick).toFixed(1)}"></line>
<text class="tick" x="${LEFT - 6}" y="${(y.at(tick) + 4).toFixed(1)}" text-anchor="end">${shortNumber(tick)}</text>`,
  )}<line class="limit-line" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y.at(capacityGib).toFixed(1)}" y2="${y.at(capacityGib).toFixed(1)}"></line>
<text class="tick" x="${WIDTH - RIGHT}" y="${(y.at(capacityGib) - 4).toFixed(1)}" text-anchor="end">capacity</text>
<text class="axis" x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">step time, s</text>
<text class="axis" x="12" y="${(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" transform="rotate(-90 12 ${(TOP + HEIGHT - BOTTOM) / 2})">peak memory, GiB</text>
${pareto.map((plan) => mark(plan, 'front'))}${plans.slice(1).map((plan) => mark(plan, 'runner-up'))}${plans.slice(0, 1).map((plan) => mark(plan, 'chosen'))}</svg>`;
}

interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

/** A linear scale over the values, widened to round ticks. */
function scale(values: readonly number[], range: { readonly from: number; readonly to: number }): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const step = roundStep((most - least || most || 1) / 4);
  const first = Math.floor(least / step);
  const last = Math.max(first + 1, Math.ceil(most / step));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  const [low, high] = [first * step, last * step];
  return { ticks, at: (value) => range.from + ((value - low) / (high - low)) * (range.to - range.from) };
}

/** The smallest of 1, 2, 5, 10 times a power of ten that is at least `rough`. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(4)));
}
