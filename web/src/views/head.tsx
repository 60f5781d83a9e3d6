// One head from its queries to its output: each step a table, each cell with its arithmetic.
import { useMemo } from "preact/hooks";
import { usePage } from "../context";
import type { Attention, Token } from "../document";
import { Matrix } from "../parts/matrix";
import { Formula } from "../parts/formula";
import { useWidth } from "../parts/size";
import type { Scale } from "../colours";
import { Tensor, unpackFrom } from "../tensor";
import { layerName } from "../words/meaning";
import { roleTitle } from "./attention";
import { Looks } from "./looks";

export function Head({ attention, head }: { attention: Attention; head: number }) {
  const { document, words } = usePage();
  const [place, width] = useWidth<HTMLElement>("head", 900);
  const queries = document.sequences[attention.queries] ?? [];
  const keys = document.sequences[attention.keys] ?? [];
  const get = (name: string, number = head) => unpackFrom(document.values, `${attention.address}.${name}`)?.part(number) ?? null;
  const keyHead = Math.floor(head / ((attention.heads ?? 1) / (attention.kvHeads ?? 1)));
  const weights = get("weights");
  const across = attention.kind === "cross";
  const role = document.roles[attention.address]?.[head];
  if (!weights) return null;
  return (
    <section class="head" ref={place}>
      <header>
        <h2>
          {attention.kind === "cross" ? words.cross : words.self}, {layerName(attention.layer, words)}, {words.head} {head + 1}
        </h2>
        <p class="address">
          {attention.address}
          {role && <span> · {roleTitle(role, words)}</span>}
        </p>
      </header>
      <h3>{words.whoLooks}</h3>
      <p class="lead">
        {words.whoLooksHint} {across && words.whoWrites}
      </p>
      <Looks weights={weights} queries={across ? writing(document.written, queries) : queries} keys={keys} width={width} across={across} />
      <h3>{words.stepByStep}</h3>
      <div class="pipeline">
        <Vectors attention={attention} name="query" head={head} values={get("query")} tokens={queries} width={width} />
        <Vectors attention={attention} name="key" head={keyHead} values={get("key", keyHead)} tokens={keys} width={width} />
        <Scores attention={attention} head={head} queries={queries} keys={keys} width={width} weights={weights} />
        <Vectors attention={attention} name="value" head={keyHead} values={get("value", keyHead)} tokens={keys} width={width} />
        <Vectors attention={attention} name="heads" head={head} values={get("heads")} tokens={queries} width={width} />
      </div>
    </section>
  );
}

/** What each row writes: the token after the one that it reads; where a run was cut, the last one is not known. */
function writing(written: Token[], read: Token[]): Token[] {
  return read.map((_, place) => written[place] ?? { id: -1, text: "…", space: false, special: true });
}

const CAPTIONS = { query: "queryText", key: "keyText", value: "valueText", heads: "outputText" } as const;

/** The vectors of queries, keys, values or findings: a row a token. */
function Vectors({
  attention,
  name,
  head,
  values,
  tokens,
  width,
}: {
  attention: Attention;
  name: keyof typeof CAPTIONS;
  head: number;
  values: Tensor | null;
  tokens: Token[];
  width: number;
}) {
  const { state, go, words } = usePage();
  if (!values) return null;
  const address = `${attention.address}.${name}`;
  const cell = state.cell;
  const room = Math.min(width - 76, width > 900 ? (width - 200) / 2 : 620);
  const title = name === "heads" ? words.output : words[name];
  return (
    <figure class={`stage ${name}`}>
      <figcaption>
        <b>{title}</b> {words[CAPTIONS[name]]}
      </figcaption>
      <Matrix
        label={`${title}, ${address}`}
        values={values}
        scale="signed"
        rows={tokens}
        width={room}
        height={Math.min(20, 300 / values.rows) * values.rows}
        selected={cell?.address === address && cell.head === head ? [cell.row, cell.column] : null}
        onSelect={(row, column) => go({ cell: { address, head, row, column } })}
      />
    </figure>
  );
}

/** Q Kᵀ, scaled, masked, softmax: four tables of the same rows and columns. */
function Scores({
  attention,
  head,
  queries,
  keys,
  width,
  weights,
}: {
  attention: Attention;
  head: number;
  queries: Token[];
  keys: Token[];
  width: number;
  weights: Tensor;
}) {
  const { document, words } = usePage();
  const scores = unpackFrom(document.values, `${attention.address}.scores`)?.part(head) ?? null;
  const bias = attention.kind === "self" && attention.stack.position.acts.includes("bias");
  const raw = useMemo(() => (scores && !bias ? times(scores, 1 / (attention.scale ?? 1)) : null), [scores, bias]);
  const forbidden = useMemo(() => {
    const hidden = weights.data.some((weight) => weight === 0) && attention.stack.address === "decoder" && attention.kind === "self";
    return hidden ? (row: number, column: number) => weights.at(row, column) === 0 : undefined;
  }, [weights]);
  const d = attention.size;
  const isRoot = Math.abs((attention.scale ?? 0) - d ** -0.5) < 1e-9;
  const scaledText = isRoot ? words.scaledText(d) : words.scaledBy((attention.scale ?? 1).toPrecision(3));
  const common = { attention, head, queries, keys, width };
  return (
    <div class="score-tables">
      {raw && <Table {...common} name="scores" values={raw} scale="signed" title={words.raw} text={words.rawText} />}
      {scores && (
        <Table {...common} name="scores" values={scores} scale="signed" title={words.scaled} text={bias ? `${scaledText}, ${words.plusPosition}` : scaledText} />
      )}
      {scores && forbidden && (
        <Table {...common} name="scores" values={scores} scale="signed" title={words.masked} text={words.maskedText} forbidden={forbidden} />
      )}
      <Table {...common} name="weights" values={weights} scale="weight" {...(weights.columns > 24 ? {} : { largest: 1 })} title={words.softmax} text={words.softmaxText} {...(forbidden ? { forbidden } : {})} />
    </div>
  );
}

function times(table: Tensor, factor: number): Tensor {
  return new Tensor(table.shape, table.data.map((value) => value * factor));
}

function Table(props: {
  attention: Attention;
  head: number;
  queries: Token[];
  keys: Token[];
  width: number;
  name: "scores" | "weights";
  values: Tensor;
  scale: Scale;
  largest?: number;
  title: string;
  text: string;
  forbidden?: (row: number, column: number) => boolean;
}) {
  const { state, go } = usePage();
  const { attention, head, values, name } = props;
  const address = `${attention.address}.${name}`;
  const cell = state.cell;
  const share = props.width > 1000 ? (props.width - 110) / 4 - 78 : props.width > 700 ? (props.width - 40) / 2 - 78 : 620;
  const most = Math.min(props.width - 80, share, 44 * values.columns);
  const room = Math.max(most, Math.min(props.width - 80, 8 * values.columns));
  const height = Math.max(7, Math.min(26, room / values.columns)) * values.rows;
  return (
    <figure class={`stage ${name}`}>
      <figcaption>
        <b>
          <Formula text={props.title} />
        </b>{" "}
        {props.text}
      </figcaption>
      <Matrix
        label={`${props.title}, ${address}`}
        values={values}
        scale={props.scale}
        {...(props.largest ? { largest: props.largest } : {})}
        rows={props.queries}
        columns={props.keys}
        width={room}
        height={height}
        selected={cell?.address === address && cell.head === head ? [cell.row, cell.column] : null}
        onSelect={(row, column) => go({ cell: { address, head, row, column } })}
        {...(props.forbidden ? { forbidden: props.forbidden } : {})}
      />
    </figure>
  );
}
