// How wide a place on the page is, as it changes.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const known = new Map<string, number>(); // so that what is drawn again need not be drawn twice

/** The width of a place; `name` says which, where there are several of a kind they are as wide. */
export function useWidth<T extends HTMLElement>(name: string, start = 600): [{ current: T | null }, number] {
  const place = useRef<T>(null);
  const [width, set] = useState(known.get(name) ?? start);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const measure = () => {
      if (!element.clientWidth) return; // nothing has a width before it is laid out
      known.set(name, element.clientWidth);
      set(element.clientWidth);
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [place, width];
}
