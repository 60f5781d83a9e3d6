// What an address means to people: a part's name, what it does, what one of its numbers says.
import { attentionAt } from "../arithmetic";
import { attentionsOf, type Document } from "../document";
import { shown } from "../parts/tokens";
import type { Cell } from "../state";
import type { Box, Kind } from "../views/machine-layout";
import { en, type Words } from "./en";
import { type Described, NAMES, PARTS } from "./parts";

const PATCHES = {
  en: "The picture is cut into patches, row by row; the number is a patch's place.",
  zh: "图片一行一行地切成小块；数字是小块的位置。",
};

const MAPPED = {
  en: "A convolution makes each place of the picture one vector: from here on a place is a token.",
  zh: "卷积把图片的每一处变成一个向量：从这里起，每一处就是一个词元。",
};

const CLASS = {
  en: { title: "The class", text: "Softmax makes probabilities of the scores: one for each class that the model knows." },
  zh: { title: "类别", text: "softmax 把分数变成概率：模型认识的每个类别一个。" },
};

const languageOf = (words: Words) => (words === en ? "en" : "zh");

/** Which kind of part an address is. */
export function kindOf(document: Document, at: string): Kind {
  if (at.startsWith("tokens:")) return "tokens";
  if (at === "words") return "words";
  if (at === "logits" || document.machine.stacks.some((stack) => stack.address === at)) return "output";
  if (/(^|_)embedding$|^patches$|\.embed$/.test(at)) return "embedding";
  if (/\.input$/.test(at)) return "position";
  if (/norm\d?$/.test(at)) return "norm";
  const attention = attentionsOf(document.machine).find((each) => each.address === at);
  if (attention) return attention.kind;
  if (/feed_forward$/.test(at)) return "feed-forward";
  if (/\.\d+$/.test(at)) return "layer";
  return "add";
}

export function describe(document: Document, at: string, words: Words): Described {
  const language = languageOf(words);
  const kind = kindOf(document, at);
  const known = PARTS[language][kind];
  const names = NAMES[language];
  if (kind === "tokens") return { ...known, title: sequenceName(at.slice(7), words), ...(document.picture && { text: PATCHES[language] }) };
  if (kind === "embedding" && document.picture) return { title: known.title, text: MAPPED[language], formula: "x = conv(picture)" };
  if (kind === "output") return { ...known, title: (at === "encoder" ? names["memory"] : at === "logits" ? names[document.picture ? "classes" : "logits"] : known.title) ?? "" };
  if (kind === "words" && document.picture) return { ...known, ...CLASS[language] };
  if (kind === "layer") return { ...known, title: layerName(Number(at.split(".").at(-1)), words) };
  if (kind === "position" && !document.machine.stacks.some((s) => at.startsWith(`${s.address}.`) && s.position.acts.includes("embed")))
    return { title: known.title, text: known.text };
  return known;
}

/** What a sequence of tokens is called; the stages of a picture by their number. */
export function sequenceName(sequence: string, words: Words): string {
  const stage = /^stage(\d+)/.exec(sequence)?.[1];
  return stage ? words.stage(Number(stage) + 1) : (NAMES[languageOf(words)][sequence] ?? sequence);
}

export function layerName(number: number, words: Words): string {
  return languageOf(words) === "en" ? `Layer ${number + 1}` : `第 ${number + 1} 层`;
}

/** What stands in a box of the drawing. */
export function labelOf(document: Document, box: Box, words: Words): { text: string; full: string } {
  const language = languageOf(words);
  const names = NAMES[language];
  if (box.kind === "tokens") {
    const sequence = box.at.slice(7);
    const tokens = document.sequences[sequence] ?? [];
    return { text: tokens.map(shown).join(" "), full: `${sequenceName(sequence, words)}: ${tokens.map(shown).join(" ")}` };
  }
  if (box.kind === "words") {
    const text = document.written.map(shown).join(" ");
    return { text, full: `${words.wrote}: ${text}` };
  }
  const { title } = describe(document, box.at, words);
  if (box.kind === "position") {
    const name = document.machine.stacks.find((stack) => stack.address === box.stack)?.position.name ?? "";
    return { text: name.toLowerCase(), full: `${title}: ${name}` };
  }
  if (box.kind === "norm" && box.at.endsWith("final_norm")) return { text: names["finalNorm"] ?? "", full: names["finalNorm"] ?? "" };
  if (box.kind === "layer") return { text: title, full: title };
  if (box.kind === "add") return { text: "", full: PARTS[language].add.title };
  return { text: title, full: `${title}, ${box.at}` };
}

/** What one number says. */
export function meaningOf(document: Document, cell: Cell, words: Words): { title: string; text: string; hasHeads: boolean } {
  const language = languageOf(words);
  const names = NAMES[language];
  const found = attentionAt(document, cell.address);
  const isEnglish = language === "en";
  if (!found) {
    const sequence = sequenceOf(document, cell.address);
    const token = shown(document.sequences[sequence]?.[cell.row]);
    const { title } = describe(document, cell.address, words);
    const text = isEnglish ? `Feature ${cell.column} of “${token}”.` : `“${token}”的第 ${cell.column} 个特征。`;
    return { title, text, hasHeads: false };
  }
  const [attention, what] = found;
  const from = shown(document.sequences[attention.queries]?.[cell.row]);
  const to = shown(document.sequences[attention.keys]?.[cell.column]);
  const title = names[what] ?? what;
  const of = what === "key" || what === "value" ? shown(document.sequences[attention.keys]?.[cell.row]) : from;
  const texts: Record<string, [string, string]> = {
    scores: [`How well “${from}” fits “${to}”, before softmax.`, `“${from}”与“${to}”有多合，softmax 之前。`],
    weights: [`How much of “${to}” goes to “${from}”.`, `“${from}”从“${to}”取多少。`],
  };
  const [english, chinese] = texts[what] ?? [`Feature ${cell.column} of “${of}”.`, `“${of}”的第 ${cell.column} 个特征。`];
  return { title, text: isEnglish ? english : chinese, hasHeads: true };
}

function sequenceOf(document: Document, address: string): string {
  const stack = document.machine.stacks.find((each) => address === each.address || address.startsWith(`${each.address}.`));
  return stack?.sequence ?? /^(\w+)_embedding/.exec(address)?.[1] ?? document.machine.stacks[0]?.sequence ?? "";
}
