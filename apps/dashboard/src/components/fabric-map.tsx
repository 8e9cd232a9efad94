import {
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
} from 'react';
import { formatCount } from '@coxswain/units';
import { useColorScheme } from '../color-scheme.ts';
import {
  cornerOf,
  type FabricGeometry,
  kept,
  layOutFabric,
  nodeAt,
  showing,
  type View,
  wholeView,
  zoomed,
} from '../fabric/fabric-geometry.ts';
import { paintFabric, placeCursor } from '../fabric/fabric-painting.ts';
import type { FabricPageNode, IslandTree } from '../fabric/fabric-tree.ts';
import { type Drag, meaningOf, type Point } from '../fabric/pointing.ts';
import { useWidth } from '../use-width.ts';

interface FabricMapProps {
  readonly islands: readonly IslandTree[];
  /** Index of the job whose nodes stand out; undefined: all alike. */
  readonly shownJob: number | undefined;
  readonly shown: FabricPageNode | undefined;
  readonly onShow: (node: FabricPageNode | undefined) => void;
  /** A click, or Enter. */
  readonly onChoose: (node: FabricPageNode | undefined) => void;
}

const HEIGHT_PX = 560;
const ZOOM_STEP = 1.4;

/** Every node as a cell of one canvas, by island, spine and leaf, to be zoomed and moved. Nothing is painted that is not seen. */
export function FabricMap({ islands, shownJob, shown, onShow, onChoose }: FabricMapProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const cursor = useRef<HTMLSpanElement>(null);
  const widthPx = useWidth(canvas);
  const scheme = useColorScheme();
  const count = islands.reduce((sum, { leaves }) => leaves.reduce((all, { nodes }) => all + nodes.length, sum), 0);
  const window = useMemo(() => ({ width: widthPx, height: HEIGHT_PX }), [widthPx]);
  const geometry = useMemo(() => layOutFabric(islands, window), [islands, window]);
  const [view, setView] = useState<View>();
  const seen = useMemo(
    () => (view === undefined ? wholeView(geometry, window) : kept(view, geometry, window)),
    [view, geometry, window],
  );
  const order = useMemo(() => geometry.leaves.flatMap(({ leaf }) => leaf.nodes), [geometry]);

  // Pointing at a node paints nothing: its frame lies over the canvas.
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const picture = { geometry, view: seen, widthPx, heightPx: HEIGHT_PX, shownJob };
    const frame = requestAnimationFrame(() => paintFabric(element, picture));
    return () => cancelAnimationFrame(frame);
  }, [geometry, seen, widthPx, shownJob, scheme]);
  useEffect(() => placeCursor(cursor.current, { geometry, view: seen, node: shown }), [geometry, seen, shown]);
  const zoom = (by: number, at = { x: widthPx / 2, y: HEIGHT_PX / 2 }): void => setView(zoomed(seen, by, at));
  useWheel(canvas, zoom);
  const pointer = usePointer({ geometry, view: seen, setView, onShow, onChoose });

  return (
    <div className="fabric-map">
      <div className="tabs">
        <button type="button" onClick={() => zoom(ZOOM_STEP)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(1 / ZOOM_STEP)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => setView(undefined)}>
          Whole fabric
        </button>
        <span className="hint">Drag to move. Wheel with Ctrl, or after a click on the map, zooms.</span>
      </div>
      <div className="map">
        <canvas
          ref={canvas}
          style={{ height: HEIGHT_PX }}
          tabIndex={0}
          role="img"
          aria-label={`${formatCount(count, 'node')} of ${formatCount(islands.length, 'island')}. Arrow keys go from node to node, plus and minus zoom; the table below has the same content.`}
          {...pointer}
          onKeyDown={(event) => {
            const next = afterKey(event, order, shown);
            if (next !== undefined) {
              event.preventDefault();
              onShow(next);
              setView(inSight(seen, geometry, { node: next, widthPx }));
            } else if (event.key === 'Enter') onChoose(shown);
            else if (event.key === '+') zoom(ZOOM_STEP);
            else if (event.key === '-') zoom(1 / ZOOM_STEP);
          }}
        />
        <span ref={cursor} className="cursor" hidden />
      </div>
    </div>
  );
}

function afterKey(
  { key }: KeyboardEvent,
  order: readonly FabricPageNode[],
  shown: FabricPageNode | undefined,
): FabricPageNode | undefined {
  const index = shown === undefined ? -1 : order.indexOf(shown);
  switch (key) {
    case 'ArrowRight':
    case 'ArrowDown':
      return order[Math.min(index + 1, order.length - 1)];
    case 'ArrowLeft':
    case 'ArrowUp':
      return order[Math.max(index - 1, 0)];
    case 'Home':
      return order[0];
    case 'End':
      return order.at(-1);
    default:
      return undefined;
  }
}

function inSight(
  view: View,
  geometry: FabricGeometry,
  { node, widthPx }: { readonly node: FabricPageNode; readonly widthPx: number },
): View {
  const box = geometry.leaves.find(({ leaf }) => leaf.nodes.includes(node));
  if (box === undefined) return view;
  const corner = cornerOf(box, box.slots[box.leaf.nodes.indexOf(node)] ?? 0);
  return showing(corner, view, { width: widthPx, height: HEIGHT_PX });
}

/** Wheel events scroll the page unless the map has focus or Ctrl is pressed, as in a pinch on a touchpad. */
function useWheel(canvas: RefObject<HTMLCanvasElement | null>, zoom: (by: number, at: Point) => void): void {
  const onWheel = useEffectEvent((event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== event.currentTarget) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), pointOf(event));
  });
  useEffect(() => {
    const element = canvas.current;
    const listen = (event: WheelEvent): void => onWheel(event);
    // React's own listener could not keep the page from scrolling.
    element?.addEventListener('wheel', listen, { passive: false });
    return () => element?.removeEventListener('wheel', listen);
  }, [canvas]);
}

function pointOf({ currentTarget, clientX, clientY }: MouseEvent | PointerEvent): Point {
  const box = (currentTarget as Element).getBoundingClientRect();
  return { x: clientX - box.left, y: clientY - box.top };
}

type PointerHandlers = Readonly<
  Record<
    'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerCancel' | 'onPointerLeave',
    (event: PointerEvent) => void
  >
>;

function usePointer(parts: {
  readonly geometry: FabricGeometry;
  readonly view: View;
  readonly setView: (view: View) => void;
  readonly onShow: (node: FabricPageNode | undefined) => void;
  readonly onChoose: (node: FabricPageNode | undefined) => void;
}): PointerHandlers {
  const { geometry, view, setView, onShow, onChoose } = parts;
  const drag = useRef<Drag>(undefined);
  const nodeUnder = ({ x, y }: Point): FabricPageNode | undefined =>
    nodeAt(geometry, view.x + x / view.scale, view.y + y / view.scale);
  const handle = (event: PointerEvent): void => {
    const { type, button, isPrimary } = event;
    const at = pointOf(event);
    const meaning = meaningOf({ type, button, isPrimary, at }, drag.current, view);
    // A drag continues outside the map.
    if (drag.current === undefined && meaning.drag !== undefined)
      event.currentTarget.setPointerCapture(event.pointerId);
    drag.current = meaning.drag;
    if (typeof meaning.does === 'object') setView(meaning.does.moveTo);
    else if (meaning.does === 'point') onShow(nodeUnder(at));
    else if (meaning.does === 'leave') onShow(undefined);
    else if (meaning.does === 'choose') onChoose(nodeUnder(at));
  };
  return {
    onPointerDown: handle,
    onPointerMove: handle,
    onPointerUp: handle,
    onPointerCancel: handle,
    onPointerLeave: handle,
  };
}
