// The twelve steps of the tour: what each says, and the state of the page that it shows; both of this very run.
import { attentionsOf, type Attention, type Document, type Token } from "../document";
import { shown } from "../parts/tokens";
import type { State, View } from "../state";
import { unpackFrom } from "../tensor";

export interface TourStep {
  title: [english: string, chinese: string];
  text: [english: string, chinese: string];
  state: Partial<State> & { view: View };
}

const isWord = (token: Token | undefined) => !!token && !token.special && /\p{L}/u.test(token.text);

interface Look {
  attention: Attention;
  head: number;
  row: number;
  column: number;
  weight: number;
}

/** Of some attentions the head that tells most: the one in which words look most at other words, and its largest weight. */
function clearest(document: Document, attentions: Attention[]): Look | null {
  let best: (Look & { clear: number }) | null = null;
  for (const attention of attentions) {
    const [queries, keys] = [document.sequences[attention.queries] ?? [], document.sequences[attention.keys] ?? []];
    for (let head = 0; head < (attention.heads ?? 0); head++) {
      const weights = unpackFrom(document.values, `${attention.address}.weights`)?.part(head);
      if (!weights) continue;
      const found = { attention, head, row: 0, column: 0, weight: -1, clear: 0 };
      queries.forEach((query, row) => {
        if (!isWord(query)) return;
        const others = keys.map((key, column) => (isWord(key) && (attention.kind === "cross" || row !== column) ? weights.at(row, column) : 0));
        const most = Math.max(...others);
        found.clear += most;
        if (most > found.weight) Object.assign(found, { row, column: others.indexOf(most), weight: most });
      });
      if (!best || found.clear > best.clear) best = found;
    }
  }
  return best;
}

export function tourOf(document: Document): TourStep[] {
  const attentions = attentionsOf(document.machine);
  const reading = attentions.filter((each) => each.stack === document.machine.stacks[0]);
  const looking = clearest(document, reading);
  const backwards = attentions.find((each) => each.kind === "self" && each.stack === document.machine.stacks.at(-1));
  const across = clearest(document, attentions.filter((each) => each.kind === "cross"));
  const [firstStack, lastStack] = [document.machine.stacks[0], document.machine.stacks.at(-1)];
  if (!looking || !backwards || !firstStack || !lastStack) return [];
  const { attention, head, row, column, weight } = looking;
  const cell = (name: string, c = column) => ({ address: `${attention.address}.${name}`, head, row, column: c });
  const tokens = document.sequences[firstStack.sequence] ?? [];
  const [from, to] = [shown(tokens[row]), shown(tokens[column])];
  const first = shown(document.written[0]);
  const at = { view: "attention" as const, at: attention.address, head };
  const list = tokens.map(shown).join(" · ");
  return [
    {
      title: ["Words become pieces", "词变成片段"],
      text: [
        `A model knows no words, only numbers. Your sentence is cut into ${tokens.length} pieces: ${list}. Each has a number, its id.`,
        `模型不认识词，只认识数。你的句子被切成 ${tokens.length} 个片段：${list}。每个片段有一个编号。`,
      ],
      state: { view: "machine", at: `tokens:${firstStack.sequence}` },
    },
    {
      title: ["Pieces become vectors", "片段变成向量"],
      text: [
        `Each id picks a row of a table that was learned. From here on “${to}” is ${document.values["encoder.input"]?.shape[1] ?? "many"} numbers, and to be alike means to point the same way.`,
        `每个编号从学来的表里取出一行。从这里起，“${to}”就是 ${document.values["encoder.input"]?.shape[1] ?? "许多"} 个数；相似就是指向同一个方向。`,
      ],
      state: { view: "machine", at: `${firstStack.sequence}_embedding` },
    },
    {
      title: ["Where is each piece?", "每个片段在哪里？"],
      text: [
        "Attention sees a set: shuffle the words and nothing changes. So each vector is marked with its place. These are the encodings one can choose from.",
        "注意力看到的是集合：打乱词序，什么也不变。所以每个向量都标上自己的位置。可选的编码都在这里。",
      ],
      state: { view: "positions" },
    },
    {
      title: ["The dot product", "点积"],
      text: [
        `“${from}” asks with its query, “${to}” answers with its key. Multiply them number by number and add up: that is how well they fit. Here is every term of the sum.`,
        `“${from}”用查询提问，“${to}”用键回答。逐个相乘再相加：这就是两者有多合。和里的每一项都在这里。`,
      ],
      state: { ...at, cell: cell("scores") },
    },
    {
      title: ["Softmax: scores become shares", "softmax：分数变成份额"],
      text: [
        `e to the power of each score, divided by their sum: each row now sums to one. “${from}” takes ${(weight * 100).toFixed(0)}% from “${to}”.`,
        `对每个分数取 e 的幂，再除以它们的和：现在每一行的和是一。“${from}”从“${to}”取 ${(weight * 100).toFixed(0)}%。`,
      ],
      state: { ...at, cell: cell("weights") },
    },
    {
      title: ["A weighted sum", "加权求和"],
      text: [
        `With these shares the values are mixed. What comes out stands at the place of “${from}”, and holds something of all that it looked at.`,
        `用这些份额把值混合起来。结果放在“${from}”的位置上，里面有它看过的一切。`,
      ],
      state: { ...at, cell: cell("heads", 0) },
    },
    {
      title: ["Many heads", "许多个头"],
      text: [
        `One head looks at one thing. So there are ${attention.heads} side by side, each with projections of its own; some look at the neighbour, some at themselves, some at what belongs together.`,
        `一个头看一样东西。所以有 ${attention.heads} 个并排，各有自己的投影；有的看邻居，有的看自己，有的看同属一处的词。`,
      ],
      state: { view: "attention", at: attention.address, head: (head + 1) % (attention.heads ?? 1) },
    },
    {
      title: ["Each token thinks for itself", "每个词元自己思考"],
      text: [
        "After looking comes thinking: a small network, the same for every token, and a path around it that only ever adds. Layer upon layer does the same, with other weights.",
        "看过之后是思考：一个小网络，每个词元用的都一样，旁边有一条只做加法的通路。一层一层都这样，参数不同。",
      ],
      state: { view: "machine", at: `${firstStack.address}.0.feed_forward` },
    },
    {
      title: ["Writing, without looking ahead", "写的时候不看后面"],
      text: [
        "The decoder may look back at what is written and not ahead: the upper half of this table is hidden. In training it is what keeps the model from copying the answer.",
        "解码器可以回看已经写的，不能看后面：表的右上半被遮住了。训练时，正是它让模型不能抄答案。",
      ],
      state: { view: "attention", at: backwards.address, head: 0 },
    },
    {
      title: ["Looking across", "看另一边"],
      text: [
        "What is written asks, what was read answers. In this head one can see which word comes from which: nobody told the model, it found the alignment by itself.",
        "写的提问，读的回答。在这个头里看得出哪个词来自哪个词：没有人教过它，对齐是模型自己找到的。",
      ],
      state: across ? { view: "attention", at: across.attention.address, head: across.head } : { view: "machine", at: lastStack.address },
    },
    {
      title: ["The first word", "第一个词"],
      text: [
        `The last vector is compared with every word of the vocabulary. “${first}” gets ${((document.steps[0]?.chosen?.p ?? 0) * 100).toFixed(1)}%. Below: who spoke for it, and what earlier layers would have said.`,
        `最后的向量与词表里的每个词比较。“${first}”得到 ${((document.steps[0]?.chosen?.p ?? 0) * 100).toFixed(1)}%。下面是谁为它说了话，较早的层又会说什么。`,
      ],
      state: { view: "writing", step: 0 },
    },
    {
      title: ["And again, until the end", "再来，直到写完"],
      text: [
        `Each word is written and read again, until the end. The beam follows several beginnings at once; the best of them is your translation: ${document.output}`,
        `每写一个词就再读一遍，直到写完。束搜索同时跟踪几个开头；其中最好的就是译文：${document.output}`,
      ],
      state: { view: "writing", step: document.steps.length - 1, node: document.tree?.best ?? -1 },
    },
  ];
}
