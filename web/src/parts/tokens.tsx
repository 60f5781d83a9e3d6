// Tokens as people read them.
import type { Token } from "../document";

export function shown(token: Token | undefined): string {
  return token ? token.text : "";
}

/** Tokens in a row, each a pill; one may be marked, and clicked. */
export function Tokens({
  tokens,
  marked,
  label,
  onPick,
}: {
  tokens: Token[];
  marked?: number | null;
  label: string;
  onPick?: (place: number) => void;
}) {
  return (
    <div class="tokens" role="group" aria-label={label}>
      {tokens.map((token, place) => {
        const kind = `token ${token.special ? "special" : ""} ${marked === place ? "marked" : ""}`;
        if (!onPick) return <span class={kind}>{shown(token)}</span>;
        return (
          <button type="button" class={kind} aria-pressed={marked === place} onClick={() => onPick(place)}>
            {shown(token)}
          </button>
        );
      })}
    </div>
  );
}

/** A token's text as it joins what stands before it. */
export function joined(tokens: Token[]): string {
  return tokens
    .filter((token) => !token.special)
    .map((token, place) => (token.space && place ? " " : "") + (token.text === "▁" ? "" : token.text))
    .join("");
}
