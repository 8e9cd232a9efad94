import type { RankPlace } from '@coxswain/api-types';
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { cellAt, groupRanks, layOutDomain, slowness, type DomainGroup } from '../job/rank-geometry.ts';

const NIC_WORDS: Readonly<Record<string, string>> = { infiniband: 'InfiniBand', roce: 'RoCE', ethernet: 'Ethernet' };

/** Ranks on nodes, by island and NVLink domain; painted on canvas, so that 16,384 ranks are as quick as four. */
export function RankMap({
  places,
  epoch,
}: {
  readonly places: readonly RankPlace[];
  readonly epoch: number;
}): ReactNode {
  const islands = useMemo(() => groupRanks(places), [places]);
  const [shown, setShown] = useState<RankPlace>();
  if (places.length === 0) return <p className="empty">No ranks are placed yet.</p>;
  return (
    <>
      <div className="islands">
        {islands.map((island) => (
          <section key={island.island} className="island">
            <h3>
              {island.island}
              {island.nicType !== null && <small>{NIC_WORDS[island.nicType] ?? island.nicType}</small>}
            </h3>
            {island.domains.map((domain) => (
              <Domain key={domain.domain} domain={domain} places={places} onShow={setShown} />
            ))}
          </section>
        ))}
      </div>
      <p className="rank-facts" aria-live="polite">
        {shown === undefined ? `Epoch ${epoch}. Point at a rank to see where it is.` : describe(shown)}
      </p>
    </>
  );
}

interface DomainProps {
  readonly domain: DomainGroup;
  readonly places: readonly RankPlace[];
  readonly onShow: (place: RankPlace | undefined) => void;
}

function Domain({ domain, places, onShow }: DomainProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [widthPx, setWidthPx] = useState(320);
  const geometry = useMemo(() => layOutDomain(domain, widthPx, places.length), [domain, widthPx, places.length]);

  useEffect(() => {
    const parent = canvas.current?.parentElement;
    if (parent === null || parent === undefined) return;
    const resize = new ResizeObserver(() => setWidthPx(Math.max(120, parent.clientWidth - 24)));
    resize.observe(parent);
    return () => resize.disconnect();
  }, []);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (element === null || context === null || context === undefined) return;
    const ratio = devicePixelRatio;
    element.width = geometry.widthPx * ratio;
    element.height = geometry.heightPx * ratio;
    context.scale(ratio, ratio);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.font = '600 13px system-ui, sans-serif';
    const slow = slowness(places);
    for (const { place, x, y } of geometry.cells) {
      context.fillStyle = colorOf(slow(place));
      context.fillRect(x, y, geometry.cellPx, geometry.cellPx);
      if (geometry.cellPx < 18) continue;
      context.fillStyle = '#fff';
      context.fillText(String(place.rank), x + geometry.cellPx / 2, y + geometry.cellPx / 2);
    }
  }, [geometry, places]);

  const names =
    domain.nodes.length <= 4 ? domain.nodes.map((node) => node.node).join(', ') : `${domain.nodes.length} nodes`;
  return (
    <div className="domain">
      <h4>
        {domain.domain}
        <small>{names}</small>
      </h4>
      <canvas
        ref={canvas}
        style={{ width: geometry.widthPx, height: geometry.heightPx }}
        role="img"
        aria-label={`${domain.domain}: ${domain.nodes.map(({ node, ranks }) => `ranks ${ranks.map((place) => place.rank).join(', ')} on ${node}`).join('; ')}`}
        onMouseMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          onShow(cellAt(geometry, event.clientX - box.left, event.clientY - box.top)?.place);
        }}
        onMouseLeave={() => onShow(undefined)}
      />
    </div>
  );
}

/** Teal at the median, through amber, to red at twice the median; told apart by lightness too. */
function colorOf(slow: number | null): string {
  if (slow === null) return '#64748b';
  const hue = 187 - slow * 180;
  return `hsl(${hue} 70% ${33 + slow * 14}%)`;
}

function describe(place: RankPlace): string {
  const where = `Rank ${place.rank}: node ${place.node}, pod ${place.pod}; tensor ${place.tensorIndex}, data ${place.dataIndex}, pipeline ${place.pipelineIndex}`;
  return place.stepTimeMs === null
    ? `${where}; not measured yet`
    : `${where}; step ${place.lastStep ?? '–'} took ${place.stepTimeMs.toFixed(1)} ms`;
}
