// The arithmetic of the cell that is open: of numbers on the page at once, of others by asking the server.
import { useEffect, useState } from "preact/hooks";
import { type Arithmetic, askValue, type Line } from "../api";
import { calculate, products } from "../arithmetic";
import { usePage } from "../context";
import { type Cell } from "../state";
import { meaningOf } from "../words/meaning";

export function Inspector() {
  const { document, state, go, words } = usePage();
  const cell = state.cell;
  const [found, refused] = useArithmetic(cell);
  if (!cell) return null;
  const meaning = meaningOf(document, cell, words);
  return (
    <section class="inspector" aria-label={words.arithmetic}>
      <header>
        <div>
          <h2>{meaning.title}</h2>
          <p class="address">
            {cell.address}
            {meaning.hasHeads && <span> · {words.head} {cell.head + 1}</span>} · [{cell.row}, {cell.column}]
          </p>
        </div>
        <button type="button" class="close" aria-label={words.close} onClick={() => go({ cell: null })}>
          ×
        </button>
      </header>
      <p class="meaning">{meaning.text}</p>
      {found && (
        <>
          <output class="value" data-address={cell.address} data-value={String(found.recorded)}>
            {typeof found.recorded === "number" ? found.recorded.toPrecision(7) : found.recorded}
          </output>
          <ol class="lines">
            {found.lines.map((line, i) => (
              <LineOf key={i} line={line} />
            ))}
          </ol>
        </>
      )}
      {refused && <p class="note">{refused}</p>}
    </section>
  );
}

function useArithmetic(cell: Cell | null): [Arithmetic | null, string | null] {
  const { document, words } = usePage();
  const local = cell && calculate(document, cell);
  const [answer, setAnswer] = useState<{ key: string; found: Arithmetic | null; error: string | null } | null>(null);
  const key = cell ? JSON.stringify([document.run, cell]) : "";
  useEffect(() => {
    if (!cell || local || !document.served) return;
    let current = true;
    askValue(document.run, cell)
      .then((found) => current && setAnswer({ key, found, error: null }))
      .catch((error: Error) => current && setAnswer({ key, found: null, error: error.message }));
    return () => {
      current = false;
    };
  }, [key]);
  if (!cell || local) return [local, null];
  if (!document.served) return [null, words.needsServer];
  return answer?.key === key ? [answer.found, answer.error] : [null, null];
}

function LineOf({ line }: { line: Line }) {
  const { words } = usePage();
  const value = typeof line.value === "number" ? line.value.toFixed(4) : line.value;
  return (
    <li>
      <p class="equation">
        <b>{line.name}</b> = {line.written} = <b>{value}</b>
      </p>
      {line.left && line.right && <Terms left={line.left} right={line.right} label={words.terms} />}
    </li>
  );
}

const MOST = 12;

/** The products that matter most in a sum, as bars on both sides of zero. */
function Terms({ left, right, label }: { left: number[]; right: number[]; label: string }) {
  const each = products(left, right);
  const order = each.map((_, i) => i).sort((a, b) => Math.abs(each[b] ?? 0) - Math.abs(each[a] ?? 0));
  const most = order.slice(0, MOST);
  const largest = Math.abs(each[most[0] ?? 0] ?? 0) || 1;
  return (
    <details class="terms" open>
      <summary>
        {label} ({Math.min(MOST, each.length)} / {each.length})
      </summary>
      <table>
        <tbody>
          {most.map((i) => {
            const value = each[i] ?? 0;
            const width = `${(Math.abs(value) / largest) * 50}%`;
            return (
              <tr key={i}>
                <th scope="row">{i}</th>
                <td>{(left[i] ?? 0).toFixed(3)}</td>
                <td>·</td>
                <td>{(right[i] ?? 0).toFixed(3)}</td>
                <td class="bar">
                  <span class={value < 0 ? "negative" : "positive"} style={{ width }} />
                </td>
                <td class="product">{value.toFixed(3)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </details>
  );
}
