import type { View } from './fabric-geometry.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where the first button went down, and what was seen then. */
export interface Drag {
  readonly from: Point;
  readonly view: View;
}

/** Of a pointer event, what counts; `at` in pixels of the window. */
export interface PointerStep {
  readonly type: string;
  readonly button: number;
  readonly isPrimary: boolean;
  readonly at: Point;
}

/** The effect of an event on the drawing, and whether a drag continues after it. */
export interface Meaning {
  readonly drag: Drag | undefined;
  readonly does: 'point' | 'leave' | 'choose' | 'nothing' | { readonly moveTo: View };
}

/** Pixels that the pointer may move between down and up and still be a click. */
const CLICK_PX = 4;

/** Hovering points at what is there, a drag with the first button moves the drawing, and what is neither is a click. */
export function meaningOf(step: PointerStep, drag: Drag | undefined, view: View): Meaning {
  const isFirst = step.isPrimary && step.button === 0;
  switch (step.type) {
    case 'pointerdown':
      return isFirst ? { drag: { from: step.at, view }, does: 'nothing' } : { drag, does: 'nothing' };
    case 'pointermove':
      return drag === undefined ? { drag, does: 'point' } : { drag, does: moved(drag, step.at) };
    case 'pointerup':
      if (!isFirst) return { drag, does: 'nothing' };
      return { drag: undefined, does: drag !== undefined && isClick(drag, step.at) ? 'choose' : 'nothing' };
    case 'pointercancel':
      // The browser took over to scroll or zoom: no click, and no drag continues.
      return { drag: undefined, does: 'leave' };
    default:
      return { drag, does: drag === undefined ? 'leave' : 'nothing' };
  }
}

function moved(drag: Drag, at: Point): Meaning['does'] {
  if (isClick(drag, at)) return 'nothing';
  const { from, view } = drag;
  return { moveTo: { ...view, x: view.x + (from.x - at.x) / view.scale, y: view.y + (from.y - at.y) / view.scale } };
}

function isClick({ from }: Drag, at: Point): boolean {
  return Math.hypot(from.x - at.x, from.y - at.y) <= CLICK_PX;
}
