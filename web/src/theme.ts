// Light and dark: as the system says, until the reader says otherwise.
import { useEffect, useState } from "preact/hooks";
import { darkQuery, place } from "./place";

export type Theme = "light" | "dark";

/** What the reader chose before; a page in a file may not be allowed to remember. */
export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(`prosector.${key}`);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(`prosector.${key}`, value);
  } catch {
    return;
  }
}

const system = () => (place().isDark() ? "dark" : "light");

export function useTheme(): [Theme, () => void] {
  const [chosen, choose] = useState(() => remembered("theme") as Theme | null);
  const [given, give] = useState<Theme>(system);
  useEffect(() => {
    const query = darkQuery();
    const listen = () => give(system());
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  const theme = chosen === "light" || chosen === "dark" ? chosen : given;
  place().host.dataset["theme"] = theme;
  const toggle = () => {
    const other = theme === "dark" ? "light" : "dark";
    remember("theme", other);
    choose(other);
  };
  return [theme, toggle];
}
