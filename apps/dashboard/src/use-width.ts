import { useLayoutEffect, useState, type RefObject } from 'react';

/** CSS pixels that the parent of an element leaves it, kept up to date. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [widthPx, setWidthPx] = useState(320);
  // Before the first picture, which would be stretched otherwise.
  useLayoutEffect(() => {
    const box = element.current?.parentElement;
    if (box === null || box === undefined) return undefined;
    const measure = (): void => setWidthPx(Math.max(120, box.clientWidth));
    measure();
    const resize = new ResizeObserver(measure);
    resize.observe(box);
    return () => resize.disconnect();
  }, [element]);
  return widthPx;
}
