import { useEffect, useState, type RefObject } from 'react';

/** CSS pixels that the parent of an element leaves it, kept up to date. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [widthPx, setWidthPx] = useState(320);
  useEffect(() => {
    const box = element.current?.parentElement;
    if (box === null || box === undefined) return undefined;
    const resize = new ResizeObserver(() => setWidthPx(Math.max(120, box.clientWidth)));
    resize.observe(box);
    return () => resize.disconnect();
  }, [element]);
  return widthPx;
}
