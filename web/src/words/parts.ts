// What each kind of part does, in both languages: a title, a sentence or two, its formula.
import type { Kind } from "../views/machine-layout";

export type Described = { title: string; text: string; formula?: string };

export const PARTS: Record<"en" | "zh", Record<Kind, Described>> = {
  en: {
    tokens: { title: "Tokens", text: "The sentence is cut into pieces that the vocabulary knows; each piece is a number." },
    embedding: {
      title: "Embedding",
      text: "Each id is a row of a learned table: from here on a token is a vector.",
      formula: "x = table[id] · √d",
    },
    position: {
      title: "Positions",
      text: "What the layers are given: each token's vector, and where it stands.",
      formula: "x ← x + position",
    },
    norm: {
      title: "Norm",
      text: "Each token's vector is brought to mean 0 and deviation 1, then scaled and shifted by learned numbers, so that no layer has to cope with another's size.",
      formula: "(x − mean) / √(variance + ε) · γ + β",
    },
    self: {
      title: "Self-attention",
      text: "Every token looks at the others of its own sentence, and mixes what they give. Each head looks in its own way.",
      formula: "softmax(Q Kᵀ / √d) V",
    },
    cross: {
      title: "Cross-attention",
      text: "What is written looks at what was read: queries from the target, keys and values from the source.",
      formula: "softmax(Q Kᵀ / √d) V",
    },
    "feed-forward": {
      title: "Feed-forward",
      text: "Now each token thinks for itself: a map into many features, a nonlinearity, a map back.",
      formula: "f(x W₁ + b₁) W₂ + b₂",
    },
    add: {
      title: "Sum",
      text: "The residual path only ever adds: what came in, and what the sublayer found.",
      formula: "x ← x + sublayer(x)",
    },
    layer: { title: "Layer", text: "What this layer hands on to the next." },
    output: { title: "Output", text: "What comes out of the stack, one vector for each token." },
    words: {
      title: "The next word",
      text: "Softmax makes probabilities of the scores. Pick a step to see what might have been written there.",
      formula: "p = softmax(logits)",
    },
  },
  zh: {
    tokens: { title: "词元", text: "句子被切成词表里有的片段；每个片段是一个编号。" },
    embedding: {
      title: "词嵌入",
      text: "每个编号是一张学来的表里的一行：从这里起，一个词元就是一个向量。",
      formula: "x = 表[编号] · √d",
    },
    position: {
      title: "位置",
      text: "各层拿到的东西：每个词元的向量，加上它站在哪里。",
      formula: "x ← x + 位置",
    },
    norm: {
      title: "归一化",
      text: "把每个词元的向量变成均值 0、标准差 1，再用学来的数缩放和平移；这样每层都不必应付别层的大小。",
      formula: "(x − 均值) / √(方差 + ε) · γ + β",
    },
    self: {
      title: "自注意力",
      text: "每个词元看自己句子里的其他词元，把它们给出的东西混合起来。每个头有自己的看法。",
      formula: "softmax(Q Kᵀ / √d) V",
    },
    cross: {
      title: "交叉注意力",
      text: "写的看读的：查询来自译文，键和值来自原文。",
      formula: "softmax(Q Kᵀ / √d) V",
    },
    "feed-forward": {
      title: "前馈网络",
      text: "现在每个词元自己思考：映射到许多特征，经过非线性，再映射回来。",
      formula: "f(x W₁ + b₁) W₂ + b₂",
    },
    add: {
      title: "求和",
      text: "残差通路只做加法：进来的，加上子层找到的。",
      formula: "x ← x + 子层(x)",
    },
    layer: { title: "层", text: "这一层交给下一层的东西。" },
    output: { title: "输出", text: "这一摞层的结果，每个词元一个向量。" },
    words: {
      title: "下一个词",
      text: "softmax 把分数变成概率。选一步，看那里本来还可能写什么。",
      formula: "p = softmax(logits)",
    },
  },
};

export const NAMES: Record<"en" | "zh", Record<string, string>> = {
  en: {
    source: "Source",
    target: "Target",
    text: "Text",
    patches: "Patches",
    memory: "Memory",
    logits: "Scores for all words",
    classes: "Scores for all classes",
    finalNorm: "Last norm",
    query: "Query",
    key: "Key",
    value: "Value",
    scores: "Score",
    weights: "Weight",
    heads: "What the head found",
    vector: "Feature",
  },
  zh: {
    source: "原文",
    target: "译文",
    text: "文本",
    patches: "小块",
    memory: "记忆",
    logits: "所有词的分数",
    classes: "所有类别的分数",
    finalNorm: "最后的归一化",
    query: "查询",
    key: "键",
    value: "值",
    scores: "分数",
    weights: "权重",
    heads: "这个头找到的",
    vector: "特征",
  },
};
