import type { RankMap as Ranks } from '@coxswain/api-types';
import { namedSwitch, ownNameOf } from '@coxswain/fabric';
import { formatCount } from '@coxswain/units';
import { Fragment, useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { useColorScheme } from '../color-scheme.ts';
import { distinctColor } from '../distinct-color.ts';
import {
  cellAt,
  groupRanks,
  layOutIsland,
  paceOf,
  seenRanks,
  slowness,
  type IslandGeometry,
  type IslandGroup,
  type Pace,
  type SeenRank,
} from '../job/rank-geometry.ts';
import { useWidth } from '../use-width.ts';

const NIC_WORDS: Readonly<Record<string, string>> = { infiniband: 'InfiniBand', roce: 'RoCE', ethernet: 'Ethernet' };
/** A rank that takes a fifth longer than the median is worth a word. */
const NOTABLY_SLOW = 0.2;

interface RankMapProps {
  readonly ranks: Ranks;
}

/** Ranks on nodes, by island and NVLink domain; painted on one canvas per island, so that 16,384 ranks are as quick as four. */
export function RankMap({ ranks }: RankMapProps): ReactNode {
  const places = useMemo(() => seenRanks(ranks), [ranks]);
  const islands = useMemo(() => groupRanks(places), [places]);
  const pace = useMemo(() => paceOf(places), [places]);
  const [shownRank, setShownRank] = useState<number>();
  const [chosen, setColoring] = useState<Coloring>('pace');
  const shown = useMemo(() => places.find((place) => place.rank === shownRank), [places, shownRank]);
  const stages = useMemo(() => new Set(places.map((place) => place.pipelineIndex)).size, [places]);
  if (places.length === 0) return <p className="empty">No ranks are placed yet.</p>;
  const coloring = stages > 1 ? chosen : 'pace';
  return (
    <>
      {stages > 1 && (
        <div className="tabs">
          {COLORINGS.map(([name, words]) => (
            <button key={name} type="button" aria-pressed={coloring === name} onClick={() => setColoring(name)}>
              {words}
            </button>
          ))}
        </div>
      )}
      <p className="hint legend">{coloring === 'pace' ? <PaceLegend /> : <StageLegend stages={stages} />}</p>
      <div className={places.length > 256 ? 'islands wide-islands' : 'islands'}>
        {islands.map((island) => (
          <Island
            key={island.island}
            island={island}
            totalRanks={places.length}
            pace={pace}
            coloring={coloring}
            shown={shown}
            onShow={setShownRank}
          />
        ))}
      </div>
      <p className="rank-facts" aria-live="polite">
        {shown === undefined ? gangSentence(places.length, ranks.epoch, pace) : rankSentence(shown, pace)}
      </p>
    </>
  );
}

type Coloring = 'pace' | 'stage';
const COLORINGS: readonly (readonly [Coloring, string])[] = [
  ['pace', 'Step time'],
  ['stage', 'Pipeline stage'],
];
const FRAMES = 'Frames are NVLink domains, below the spine and leaf that are known.';

function PaceLegend(): ReactNode {
  return (
    <>
      Step time: <span className="ramp" aria-hidden="true" /> from the median to twice as long;
      <span className="cell-unknown" aria-hidden="true" /> not measured yet. {FRAMES}
    </>
  );
}

/** The legend shows at most this many stages. Further stages also have colors, and the text of a rank names its stage. */
const MOST_LEGEND = 16;

function StageLegend({ stages }: { readonly stages: number }): ReactNode {
  return (
    <>
      Pipeline stage:
      {Array.from({ length: Math.min(stages, MOST_LEGEND) }, (_, stage) => (
        <Fragment key={stage}>
          <span className="chip" style={{ background: distinctColor(stage) }} aria-hidden="true" />
          {stage}
        </Fragment>
      ))}
      {stages > MOST_LEGEND && ` and ${stages - MOST_LEGEND} more`}. {FRAMES}
    </>
  );
}

interface IslandProps {
  readonly island: IslandGroup;
  readonly totalRanks: number;
  readonly pace: Pace;
  readonly coloring: Coloring;
  readonly shown: SeenRank | undefined;
  readonly onShow: (rank: number | undefined) => void;
}

function Island({ island, totalRanks, pace, coloring, shown, onShow }: IslandProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const widthPx = useWidth(canvas);
  const scheme = useColorScheme();
  const geometry = useMemo(() => layOutIsland(island, { widthPx, totalRanks }), [island, widthPx, totalRanks]);
  const ranks = useMemo(() => geometry.cells.map((cell) => cell.place.rank), [geometry]);
  const cursor = shown && geometry.cells[ranks.indexOf(shown.rank)];

  useEffect(() => {
    if (canvas.current !== null) paint(canvas.current, { geometry, widthPx, pace, coloring });
  }, [geometry, widthPx, pace, coloring, scheme]);

  const nodes = island.domains.reduce((count, domain) => count + domain.nodes.length, 0);
  const facts = `${formatCount(ranks.length, 'rank')} on ${formatCount(nodes, 'node')} in ${formatCount(island.domains.length, 'NVLink domain')}`;
  const nic = island.nicType === null ? undefined : (NIC_WORDS[island.nicType] ?? island.nicType);
  return (
    <section className="island">
      <h3>
        {island.island}
        <small>{nic === undefined ? facts : `${nic} · ${facts}`}</small>
      </h3>
      <div className="map">
        <canvas
          ref={canvas}
          style={{ height: geometry.heightPx }}
          tabIndex={0}
          role="img"
          aria-label={`${island.island}: ${facts}. Arrow keys go from rank to rank.`}
          onMouseMove={({ currentTarget, clientX, clientY }) => {
            const box = currentTarget.getBoundingClientRect();
            onShow(cellAt(geometry, clientX - box.left, clientY - box.top)?.place.rank);
          }}
          onMouseLeave={() => onShow(undefined)}
          onBlur={() => onShow(undefined)}
          onKeyDown={(event) => {
            const next = rankAfterKey(event, ranks, shown?.rank);
            if (next === undefined) return;
            event.preventDefault();
            onShow(next);
          }}
        />
        {cursor !== undefined && (
          <span
            className="cursor"
            style={{ left: cursor.x, top: cursor.y, width: geometry.cellPx, height: geometry.cellPx }}
          />
        )}
      </div>
    </section>
  );
}

function rankAfterKey(event: KeyboardEvent, ranks: readonly number[], shown: number | undefined): number | undefined {
  const index = shown === undefined ? -1 : ranks.indexOf(shown);
  switch (event.key) {
    case 'ArrowRight':
    case 'ArrowDown':
      return ranks[Math.min(index + 1, ranks.length - 1)];
    case 'ArrowLeft':
    case 'ArrowUp':
      return ranks[Math.max(index - 1, 0)];
    case 'Home':
      return ranks[0];
    case 'End':
      return ranks.at(-1);
    default:
      return undefined;
  }
}

interface Picture {
  readonly geometry: IslandGeometry;
  readonly widthPx: number;
  readonly pace: Pace;
  readonly coloring: Coloring;
}

function paint(element: HTMLCanvasElement, { geometry, widthPx, pace, coloring }: Picture): void {
  const context = element.getContext('2d');
  if (context === null) return;
  const color = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  const { cellPx, cells, boxes, labels, heightPx } = geometry;
  element.width = Math.round(widthPx * devicePixelRatio);
  element.height = Math.round(heightPx * devicePixelRatio);
  context.scale(devicePixelRatio, devicePixelRatio);
  context.strokeStyle = color('--line');
  for (const box of boxes) context.strokeRect(box.x + 0.5, box.y + 0.5, box.widthPx - 1, box.heightPx - 1);
  context.textBaseline = 'top';
  const inks = { leaf: color('--muted'), domain: color('--ink'), node: color('--muted') };
  for (const label of labels) {
    context.fillStyle = inks[label.kind];
    context.font = label.kind === 'domain' ? '600 11px system-ui, sans-serif' : '11px system-ui, sans-serif';
    context.fillText(fitted(label.text, label.widthPx, context), label.x, label.y);
  }
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.font = `600 ${Math.min(13, cellPx / 2)}px system-ui, sans-serif`;
  const isPace = coloring === 'pace';
  for (const { place, x, y } of cells) {
    context.fillStyle = isPace ? colorOf(slowness(place, pace)) : distinctColor(place.pipelineIndex);
    context.fillRect(x, y, cellPx, cellPx);
    if (cellPx < 24) continue;
    context.fillStyle = isPace ? inkOn(slowness(place, pace)) : '#fff';
    context.fillText(String(place.rank), x + cellPx / 2, y + cellPx / 2);
  }
}

/** The text, or its end behind an ellipsis: names of nodes differ at the end. */
function fitted(text: string, widthPx: number, context: CanvasRenderingContext2D): string {
  let shown = text;
  while (shown.length > 2 && context.measureText(shown).width > widthPx) shown = `…${shown.slice(2)}`;
  return shown;
}

const SHADES = 32;
/** Teal at the median, amber half as slow again, red at twice the median; no green in between, which would look like praise. */
const STOPS = [
  [15, 110, 122],
  [245, 158, 11],
  [200, 30, 30],
] as const;
const RAMP = Array.from({ length: SHADES + 1 }, (_, shade) => {
  const position = (shade / SHADES) * (STOPS.length - 1);
  const [from, to] = position < 1 ? [STOPS[0], STOPS[1]] : [STOPS[1], STOPS[2]];
  const part = position < 1 ? position : position - 1;
  return `rgb(${from.map((value, i) => Math.round(value + ((to[i] ?? value) - value) * part)).join(' ')})`;
});

function colorOf(slow: number | null): string {
  return slow === null ? '#64748b' : (RAMP[Math.round(slow * SHADES)] ?? '#64748b');
}

/** Dark on the light middle of the ramp, white on its ends: at least 4 to 1. */
function inkOn(slow: number | null): string {
  return slow !== null && slow > 0.25 && slow < 0.8 ? '#0f172a' : '#fff';
}

function gangSentence(ranks: number, epoch: number, pace: Pace): string {
  const begin = `Attempt ${epoch}, ${formatCount(ranks, 'rank')}.`;
  const { slowest, medianStepTimeMs } = pace;
  if (slowest === undefined || medianStepTimeMs === null) return `${begin} Point at a rank to see its place.`;
  const end =
    (slowness(slowest, pace) ?? 0) < NOTABLY_SLOW
      ? 'All ranks have about the same step time.'
      : `The slowest is rank ${slowest.rank} on ${slowest.node}: ${times(slowest, medianStepTimeMs)} the median.`;
  return `${begin} Median step time ${medianStepTimeMs.toFixed(1)} ms. ${end}`;
}

function rankSentence(place: SeenRank, { medianStepTimeMs, furthestStep }: Pace): string {
  const { rank, node, pod, switches, tensorIndex, dataIndex, pipelineIndex, stepTimeMs, lastStep } = place;
  const above = [0, 1]
    .flatMap((tier) => namedSwitch(switches, tier) ?? [])
    .map((name) => `, below ${ownNameOf(name)}`)
    .join('');
  const where = `Rank ${rank} on node ${node}, pod ${pod}${above}; tensor ${tensorIndex}, data ${dataIndex}, pipeline ${pipelineIndex}.`;
  if (stepTimeMs === null || lastStep === null) return `${where} Not measured yet.`;
  const behind = furthestStep === null || lastStep >= furthestStep ? '' : `, ${furthestStep - lastStep} behind`;
  const compared = medianStepTimeMs === null ? '' : ` (${times(place, medianStepTimeMs)} the median)`;
  return `${where} Step ${lastStep}${behind}, took ${stepTimeMs.toFixed(1)} ms${compared}.`;
}

function times({ stepTimeMs }: SeenRank, medianStepTimeMs: number): string {
  return `${((stepTimeMs ?? 0) / medianStepTimeMs).toFixed(2)} ×`;
}
