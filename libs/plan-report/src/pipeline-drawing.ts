import { formatSeconds } from './figures.ts';
import { markup, type Markup } from './markup.ts';
import { timelineOf, type PassKind, type ScheduleInput, type TimedPass } from '@coxswain/planner';

const PASS_KINDS = ['forward', 'backward', 'backward-input', 'backward-weight'] as const satisfies readonly PassKind[];
const LABELS: Readonly<Record<PassKind, string>> = {
  forward: 'forward',
  backward: 'backward',
  'backward-input': 'backward, activations',
  'backward-weight': 'backward, weights',
};

const WIDTH = 1200;
const LEFT = 52;
const ROW = 22;
const TOP = 4;
/** More ranks than this are drawn as a choice of them, evenly spread. */
const MOST_ROWS = 16;
/** About as many passes as a page should hold. */
const MOST_PASSES = 2500;
/** Narrower passes carry no number. */
const LEAST_NUMBERED = 11;

/**
 * One row per rank, time to the right; gaps are what the pipeline waits. Chunks of a rank differ in shade. Of a long step as many
 * micro-batches are drawn as show warm-up, steady state and drain.
 */
export function pipelineChart(step: ScheduleInput): Markup {
  const drawn: ScheduleInput = { ...step, microBatches: drawnMicroBatches(step) };
  const passes = timelineOf(drawn);
  const endS = Math.max(...passes.map((pass) => pass.endS));
  const ranks = spread(step.pipeline, MOST_ROWS);
  const height = TOP + ranks.length * ROW + 20;
  const toX = (seconds: number): number => LEFT + ((WIDTH - LEFT - 8) * seconds) / endS;
  const rows = ranks.map((rank, row) => {
    const y = TOP + row * ROW;
    const ofRank = passes.filter((pass) => pass.rank === rank);
    return markup`<text class="tick" x="${LEFT - 8}" y="${y + 14}" text-anchor="end">rank ${rank}</text>
<rect class="idle" x="${LEFT}" y="${y}" width="${WIDTH - LEFT - 8}" height="${ROW - 4}"></rect>${ofRank.map((pass) => drawnPass(pass, toX, y))}`;
  });
  const text = describe(step, drawn.microBatches, endS);
  return markup`<div class="wide"><svg class="pipeline" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="pipeline-title pipeline-desc">
<title id="pipeline-title">Pipeline of ${step.pipeline} ranks, schedule ${step.schedule}</title>
<desc id="pipeline-desc">${text}</desc>
${rows}<text class="axis" x="${LEFT}" y="${height - 4}">0 s</text><text class="axis" x="${WIDTH - 8}" y="${height - 4}" text-anchor="end">${formatSeconds(endS)}</text></svg></div>
<ul class="legend">${PASS_KINDS.filter((kind) => passes.some((pass) => pass.kind === kind)).map((kind) => legendItem(`pass-${kind}`, LABELS[kind]))}${legendItem('idle', 'waiting')}</ul>
<p class="note">${text}</p>`;
}

function legendItem(kind: string, label: string): Markup {
  return markup`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="${kind}" width="10" height="10"></rect></svg><span>${label}</span></li>`;
}

function drawnMicroBatches({ pipeline, chunks, microBatches }: ScheduleInput): number {
  const perMicroBatch = Math.min(pipeline, MOST_ROWS) * chunks * 3;
  return Math.min(microBatches, Math.max(pipeline, Math.min(4 * pipeline, Math.floor(MOST_PASSES / perMicroBatch))));
}

function drawnPass(pass: TimedPass, toX: (seconds: number) => number, y: number): Markup {
  const x = toX(pass.startS);
  const width = toX(pass.endS) - x;
  const shade = pass.chunk % 2 === 0 ? '' : ' odd';
  const number =
    width < LEAST_NUMBERED
      ? undefined
      : markup`<text class="pass-number${shade}" x="${(x + width / 2).toFixed(1)}" y="${y + 13}" text-anchor="middle">${pass.microBatch}</text>`;
  return markup`<rect class="pass pass-${pass.kind}${shade}" x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 4}"></rect>${number}`;
}

function describe({ pipeline, chunks, microBatches }: ScheduleInput, drawn: number, endS: number): string {
  const part =
    drawn === microBatches
      ? `all ${microBatches} micro-batches`
      : `a step cut down to ${drawn} of its ${microBatches} micro-batches`;
  const rows = pipeline > MOST_ROWS ? `; ${MOST_ROWS} of ${pipeline} ranks are shown` : '';
  const shades = chunks > 1 ? `; every rank holds ${chunks} chunks of the model, in two shades` : '';
  return `Predicted passes of ${part}, ${formatSeconds(endS)} in all${rows}${shades}.`;
}

/** At most `most` of `count` indices, the first and the last among them. */
function spread(count: number, most: number): readonly number[] {
  if (count <= most) return Array.from({ length: count }, (_, index) => index);
  return Array.from({ length: most }, (_, index) => Math.round((index * (count - 1)) / (most - 1)));
}
