// The likeliest tokens of a step, as bars; what was written is marked.
import { usePage } from "../context";
import type { Step, Token } from "../document";
import { shown } from "./tokens";

export function percent(p: number): string {
  if (p >= 0.9995) return "100%";
  return p >= 0.0995 ? `${(p * 100).toFixed(0)}%` : p >= 0.00095 ? `${(p * 100).toFixed(1)}%` : "<0.1%";
}

export function Candidates({
  step,
  most,
  logits,
  onPick,
  pickLabel,
}: {
  step: Step | undefined;
  most: number;
  logits?: boolean;
  onPick?: (token: Token) => void;
  pickLabel?: string;
}) {
  const { words } = usePage();
  if (!step) return null;
  const chosen = step.chosen;
  const listed = step.candidates.slice(0, most);
  const isListed = listed.some((each) => each.token.id === chosen?.token.id);
  const rows = [...listed, ...(chosen && !isListed ? [{ ...chosen, logit: NaN }] : [])];
  return (
    <ol class="candidates" aria-label={words.candidates}>
      {rows.map(({ token, p, logit }) => {
        const isChosen = token.id === chosen?.token.id;
        const name = <span class={`name ${token.special ? "special" : ""}`}>{shown(token)}</span>;
        return (
          <li key={token.id} class={isChosen ? "chosen" : ""}>
            {onPick && !isChosen ? (
              <button type="button" onClick={() => onPick(token)} title={pickLabel}>
                {name}
              </button>
            ) : (
              name
            )}
            <span class="bar">
              <span style={{ width: `${p * 100}%` }} />
            </span>
            <span class="p" data-p={p}>
              {logits && Number.isFinite(logit) ? logit.toFixed(3) : percent(p)}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
