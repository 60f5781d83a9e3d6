// A part that is open: what it does, what it is made of, the numbers that came out of it.
import { usePage } from "../context";
import { attentionsOf, type Document, type Sublayer } from "../document";
import { Formula } from "../parts/formula";
import { Matrix } from "../parts/matrix";
import { useWidth } from "../parts/size";
import { Candidates } from "../parts/candidates";
import { Tokens } from "../parts/tokens";
import { unpackFrom } from "../tensor";
import { describe } from "../words/meaning";

export function Part() {
  const { document, state, go, words } = usePage();
  const at = state.at || `tokens:${document.machine.stacks[0]?.sequence ?? "source"}`;
  const { title, text, formula } = describe(document, at, words);
  const attention = attentionsOf(document.machine).find((each) => each.address === at);
  const weights = document.machine.weights[at];
  return (
    <article class="part" aria-live="polite">
      <h2>{title}</h2>
      {!at.includes(":") && at !== "words" && <p class="address">{at}</p>}
      {formula && (
        <p class="formula">
          <Formula text={formula} />
        </p>
      )}
      <p>{text}</p>
      <Facts document={document} at={at} weights={weights} attention={attention} />
      {attention && (
        <button type="button" class="go" onClick={() => go({ view: "attention", at, head: 0, cell: null })}>
          {words.openAttention} →
        </button>
      )}
      <Shown at={at} />
    </article>
  );
}

function Facts({ document, at, weights, attention }: { document: Document; at: string; weights?: number | undefined; attention?: Sublayer | undefined }) {
  const { words } = usePage();
  const shape = document.values[at]?.shape;
  const facts: [string, string][] = [];
  if (shape) facts.push([words.shape, shape.join(" × ")]);
  if (weights) facts.push([words.weightsOf, weights.toLocaleString()]);
  if (attention) {
    facts.push([words.heads, String(attention.heads)]);
    if (attention.kvHeads !== attention.heads) facts.push([words.kvHeads, String(attention.kvHeads)]);
    facts.push(["d_head", String(attention.size)]);
  }
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The numbers of a part: tokens with their ids, vectors, or words with their probabilities. */
function Shown({ at }: { at: string }) {
  const { document, state, go, words } = usePage();
  const [place, width] = useWidth<HTMLDivElement>("part", 520);
  if (at.startsWith("tokens:")) {
    const tokens = document.sequences[at.slice("tokens:".length)] ?? [];
    return (
      <table class="ids">
        <tbody>
          <tr>
            <th scope="row">{words.token}</th>
            {tokens.map((token) => (
              <td class={token.special ? "special" : ""}>{token.text}</td>
            ))}
          </tr>
          <tr>
            <th scope="row">id</th>
            {tokens.map((token) => (
              <td>{token.id}</td>
            ))}
          </tr>
        </tbody>
      </table>
    );
  }
  if (at === "words" || at === "logits") {
    const step = Math.min(Math.max(state.step, 0), document.steps.length - 1);
    return (
      <>
        <Tokens tokens={document.written} marked={step} label={words.steps} onPick={(picked) => go({ step: picked })} />
        <Candidates step={document.steps[step]} most={8} logits={at === "logits"} />
      </>
    );
  }
  const values = unpackFrom(document.values, at);
  const tokens = sequenceOf(document, at);
  if (!values || values.shape.length !== 2) return null;
  const room = Math.max(160, Math.min(width - 74, 640));
  const cell = state.cell;
  return (
    <div class="numbers" ref={place}>
      <Matrix
        label={at}
        values={values}
        scale="signed"
        {...(tokens ? { rows: tokens } : {})}
        width={Math.max(room, values.columns > room ? Math.min(values.columns, room) : room)}
        height={Math.min(22, 360 / values.rows) * values.rows}
        selected={cell?.address === at ? [cell.row, cell.column] : null}
        onSelect={(row, column) => go({ cell: { address: at, head: 0, row, column } })}
      />
      <p class="hint">{words.eachRow}</p>
    </div>
  );
}

function sequenceOf(document: Document, at: string) {
  const stack = document.machine.stacks.find((each) => at === each.address || at.startsWith(`${each.address}.`));
  const sequence = stack?.sequence ?? /^(\w+)_embedding/.exec(at)?.[1] ?? document.machine.stacks[0]?.sequence;
  return sequence ? document.sequences[sequence] : undefined;
}
