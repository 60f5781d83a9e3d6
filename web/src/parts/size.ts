// How wide a place on the page is, as it changes.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function useWidth<T extends HTMLElement>(start = 600): [{ current: T | null }, number] {
  const place = useRef<T>(null);
  const [width, set] = useState(start);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const measure = () => element.clientWidth && set(element.clientWidth); // nothing has a width before it is laid out
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [place, width];
}
