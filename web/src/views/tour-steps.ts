// The steps of the tour: what each says, and the state of the page that it shows; both of this very run.
import { attentionsOf, type Attention, type Document, embeddingOf, type Token } from "../document";
import { shown } from "../parts/tokens";
import type { State, View } from "../state";
import { unpackFrom } from "../tensor";

export type Both = [english: string, chinese: string];

export interface TourStep {
  title: Both;
  text: Both;
  state: Partial<State> & { view: View };
}

export interface Look {
  attention: Attention;
  head: number;
  row: number;
  column: number;
  weight: number;
}

/** The steps of this run; none for a model without attention over tokens. */
export function tourOf(document: Document): TourStep[] {
  const attentions = attentionsOf(document.machine);
  const isPicture = document.task === "class";
  const stack = isPicture ? document.machine.stacks.at(-1) : document.machine.stacks[0];
  const looking = clearest(document, attentions.filter((each) => each.stack === stack));
  if (!stack || !looking) return [];
  return [
    beginning(document, stack.sequence),
    vectors(document, looking),
    ...(stack.position.acts.length ? [places(document)] : []),
    ...oneHead(document, looking),
    manyHeads(looking),
    thinking(stack.address),
    ...ends(document, attentions),
  ];
}

const isWord = (token: Token | undefined, document: Document) => !!token && !token.special && (document.picture !== undefined || /\p{L}/u.test(token.text));

/** Of some attentions the head that tells most: the one in which words look most at other words, and its largest weight. */
export function clearest(document: Document, attentions: Attention[]): Look | null {
  let best: (Look & { clear: number }) | null = null;
  for (const attention of attentions) {
    const [queries, keys] = [document.sequences[attention.queries] ?? [], document.sequences[attention.keys] ?? []];
    const isApart = attention.queries !== attention.keys;
    for (let head = 0; head < (attention.heads ?? 0); head++) {
      const weights = unpackFrom(document.values, `${attention.address}.weights`)?.part(head);
      if (!weights) continue;
      const found = { attention, head, row: 0, column: 0, weight: -1, clear: 0 };
      queries.forEach((query, row) => {
        if (!isWord(query, document)) return;
        const others = keys.map((key, column) => (isWord(key, document) && (isApart || row !== column) ? weights.at(row, column) : 0));
        const most = Math.max(...others);
        found.clear += most;
        if (most > found.weight) Object.assign(found, { row, column: others.indexOf(most), weight: most });
      });
      if (!best || found.clear > best.clear) best = found;
    }
  }
  return best;
}

/** A token by its name: a word in quotes, a place of a picture as one. */
function named(document: Document, token: Token | undefined): Both {
  const name = shown(token);
  return document.picture ? [`the patch ${name}`, `小块 ${name}`] : [`“${name}”`, `“${name}”`];
}

const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function beginning(document: Document, sequence: string): TourStep {
  const tokens = document.sequences[sequence] ?? [];
  if (document.picture) {
    const [rows, columns, prefix] = document.picture.grids[sequence] ?? [0, 0, 0];
    return {
      title: ["A picture becomes tokens", "图片变成词元"],
      text: [
        `The picture is read as ${rows} × ${columns} patches; each is a token.${prefix ? " One more, the class token, stands for the whole." : ""} Here each head shows where it looks.`,
        `图片被读成 ${rows} × ${columns} 个小块，每块是一个词元。${prefix ? "另有一个类别词元，代表整张图。" : ""}这里每个头都显示它看哪里。`,
      ],
      state: { view: "picture" },
    };
  }
  const list = tokens.map(shown).join(" · ");
  return {
    title: ["Words become pieces", "词变成片段"],
    text: [
      `A model knows no words, only numbers. Your text is cut into ${tokens.length} pieces: ${list}. Each has a number, its id.`,
      `模型不认识词，只认识数。你的文字被切成 ${tokens.length} 个片段：${list}。每个片段有一个编号。`,
    ],
    state: { view: "machine", at: `tokens:${sequence}` },
  };
}

function vectors(document: Document, { attention, column }: Look): TourStep {
  const { stack } = attention;
  const size = document.values[`${stack.address}.input`]?.shape[1];
  const name = named(document, document.sequences[attention.keys]?.[column]);
  const begins: Both = document.picture
    ? ["What is seen at each place is mapped to a vector, by numbers that were learned.", "每一处看到的东西，由学来的数映射成一个向量。"]
    : ["Each id picks a row of a table that was learned.", "每个编号从学来的表里取出一行。"];
  return {
    title: document.picture ? ["Patches become vectors", "小块变成向量"] : ["Pieces become vectors", "片段变成向量"],
    text: [
      `${begins[0]} From here on ${name[0]} is ${size ?? "many"} numbers, and to be alike means to point the same way.`,
      `${begins[1]}从这里起，${name[1]}就是 ${size ?? "许多"} 个数；相似就是指向同一个方向。`,
    ],
    state: { view: "machine", at: embeddingOf(document, stack) ?? `${stack.address}.input` },
  };
}

function places(document: Document): TourStep {
  const what: Both = document.picture ? ["patches", "小块"] : ["words", "词"];
  return {
    title: document.picture ? ["Where is each patch?", "每个小块在哪里？"] : ["Where is each piece?", "每个片段在哪里？"],
    text: [
      `Attention sees a set: shuffle the ${what[0]} and nothing changes. So places have to be marked. These are the encodings one can choose from.`,
      `注意力看到的是集合：打乱${what[1]}，什么也不变。所以要标上位置。可选的编码都在这里。`,
    ],
    state: { view: "positions" },
  };
}

function oneHead(document: Document, { attention, head, row, column, weight }: Look): TourStep[] {
  const cell = (name: string, c = column) => ({ address: `${attention.address}.${name}`, head, row, column: c });
  const from = named(document, document.sequences[attention.queries]?.[row]);
  const to = named(document, document.sequences[attention.keys]?.[column]);
  const at = { view: "attention" as const, at: attention.address, head };
  return [
    {
      title: ["The dot product", "点积"],
      text: [
        `${upper(from[0])} asks with its query, ${to[0]} answers with its key. Multiply them number by number and add up: that is how well they fit. Here is every term of the sum.`,
        `${from[1]}用查询提问，${to[1]}用键回答。逐个相乘再相加：这就是两者有多合。和里的每一项都在这里。`,
      ],
      state: { ...at, cell: cell("scores") },
    },
    {
      title: ["Softmax: scores become shares", "softmax：分数变成份额"],
      text: [
        `e to the power of each score, divided by their sum: each row now sums to one. ${upper(from[0])} takes ${(weight * 100).toFixed(0)}% from ${to[0]}.`,
        `对每个分数取 e 的幂，再除以它们的和：现在每一行的和是一。${from[1]}从${to[1]}取 ${(weight * 100).toFixed(0)}%。`,
      ],
      state: { ...at, cell: cell("weights") },
    },
    {
      title: ["A weighted sum", "加权求和"],
      text: [
        `With these shares the values are mixed. What comes out stands at the place of ${from[0]}, and holds something of all that it looked at.`,
        `用这些份额把值混合起来。结果放在${from[1]}的位置上，里面有它看过的一切。`,
      ],
      state: { ...at, cell: cell("heads", 0) },
    },
  ];
}

function manyHeads({ attention, head }: Look): TourStep {
  const n = attention.heads ?? 1;
  return {
    title: ["Many heads", "许多个头"],
    text: [
      `One head looks at one thing. So there are ${n} side by side, each with projections of its own; some look at the neighbour, some at themselves, some at what belongs together.`,
      `一个头看一样东西。所以有 ${n} 个并排，各有自己的投影；有的看邻居，有的看自己，有的看同属一处的东西。`,
    ],
    state: { view: "attention", at: attention.address, head: (head + 1) % n },
  };
}

function thinking(stack: string): TourStep {
  return {
    title: ["Each token thinks for itself", "每个词元自己思考"],
    text: [
      "After looking comes thinking: a small network, the same for every token, and a path around it that only ever adds. Layer upon layer does the same, with other weights.",
      "看过之后是思考：一个小网络，每个词元用的都一样，旁边有一条只做加法的通路。一层一层都这样，参数不同。",
    ],
    state: { view: "machine", at: `${stack}.0.feed_forward` },
  };
}

function ends(document: Document, attentions: Attention[]): TourStep[] {
  if (document.task === "class") return [answer(document)];
  if (document.task === "fill") return document.steps.length ? [gap(document)] : [];
  const backwards = attentions.find((each) => each.kind === "self" && each.stack.address === "decoder");
  const across = clearest(document, attentions.filter((each) => each.kind === "cross"));
  return [...(backwards ? [notAhead(backwards)] : []), ...(across ? [acrossTo(across)] : []), firstWord(document), again(document)];
}

const chance = (document: Document) => ((document.steps[0]?.chosen?.p ?? 0) * 100).toFixed(1);

function answer(document: Document): TourStep {
  return {
    title: ["The answer", "答案"],
    text: [
      `After the last layer one vector stands for the picture, and it is compared with every class. “${document.output}” gets ${chance(document)}%. Click a place to see where each head looks from there.`,
      `最后一层之后，一个向量代表整张图片，它与每个类别比较。“${document.output}”得到 ${chance(document)}%。点一处，看每个头从那里看向哪里。`,
    ],
    state: { view: "picture" },
  };
}

function gap(document: Document): TourStep {
  const word = shown(document.written[0]);
  return {
    title: ["The gap is filled", "填上空缺"],
    text: [
      `The last vector at the gap is compared with every word of the vocabulary. “${word}” gets ${chance(document)}%. Words on both sides have spoken for it: here nothing is hidden.`,
      `空缺处最后的向量与词表里的每个词比较。“${word}”得到 ${chance(document)}%。两边的词都为它说了话：这里什么也没有遮住。`,
    ],
    state: { view: "writing", step: 0 },
  };
}

function notAhead(backwards: Attention): TourStep {
  return {
    title: ["Writing, without looking ahead", "写的时候不看后面"],
    text: [
      "The decoder may look back at what is written and not ahead: the upper half of this table is hidden. In training it is what keeps the model from copying the answer.",
      "解码器可以回看已经写的，不能看后面：表的右上半被遮住了。训练时，正是它让模型不能抄答案。",
    ],
    state: { view: "attention", at: backwards.address, head: 0 },
  };
}

function acrossTo({ attention, head }: Look): TourStep {
  return {
    title: ["Looking across", "看另一边"],
    text: [
      "What is written asks, what was read answers. In this head one can see which word comes from which: nobody told the model, it found the alignment by itself.",
      "写的提问，读的回答。在这个头里看得出哪个词来自哪个词：没有人教过它，对齐是模型自己找到的。",
    ],
    state: { view: "attention", at: attention.address, head },
  };
}

function firstWord(document: Document): TourStep {
  const first = shown(document.written[0]);
  return {
    title: ["The first word", "第一个词"],
    text: [
      `The last vector is compared with every word of the vocabulary. “${first}” gets ${chance(document)}%. Here: who spoke for it, and what earlier layers would have said.`,
      `最后的向量与词表里的每个词比较。“${first}”得到 ${chance(document)}%。这里还有：谁为它说了话，较早的层又会说什么。`,
    ],
    state: { view: "writing", step: 0 },
  };
}

function again(document: Document): TourStep {
  const isWriting = document.task === "write";
  return {
    title: ["And again, until the end", "再来，直到写完"],
    text: [
      `Each word is written and read again, until the end. ${isWriting ? "So the text goes on" : "The beam follows several beginnings at once; the best of them is your translation"}: ${document.output}`,
      `每写一个词就再读一遍，直到写完。${isWriting ? "文字就这样写下去" : "束搜索同时跟踪几个开头；其中最好的就是译文"}：${document.output}`,
    ],
    state: { view: "writing", step: document.steps.length - 1, node: document.tree?.best ?? -1 },
  };
}
