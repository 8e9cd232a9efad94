import type { RankMap as Ranks } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';
import { Fragment, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { useColorScheme } from '../color-scheme.ts';
import { distinctColor } from '../distinct-color.ts';
import {
  cellAt,
  groupRanks,
  layOutIsland,
  paceOf,
  seenRanks,
  type IslandGroup,
  type Pace,
  type SeenRank,
} from '../job/rank-geometry.ts';
import { rankAfterKey } from '../job/rank-after-key.ts';
import { paintIsland, type Coloring } from '../job/rank-painting.ts';
import { formatGang, formatRank } from '../job/format-ranks.ts';
import { useWidth } from '../use-width.ts';

const NIC_WORDS: Readonly<Record<string, string>> = { infiniband: 'InfiniBand', roce: 'RoCE', ethernet: 'Ethernet' };

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
        {shown === undefined ? formatGang(places.length, ranks.epoch, pace) : formatRank(shown, pace)}
      </p>
    </>
  );
}

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
    if (canvas.current !== null) paintIsland(canvas.current, { geometry, widthPx, pace, coloring });
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
            const next = rankAfterKey(event.key, ranks, shown?.rank);
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
