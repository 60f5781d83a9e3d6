// The beam as a tree: one column a step. What was chosen is the first row; every other branch takes the first row below its
// parent's that is free where it stands, those that fork late first, so that they stay near and early forks pass to the left.
import type { Tree, TreeNode } from "../document";

export interface Placed {
  number: number;
  node: TreeNode;
  x: number;
  y: number;
  parent: Placed | null;
  onBest: boolean;
}

const ROOM_FOR_SCORE = 0.75; // of a column, after what has finished

/** The nodes from a node to the beginning. */
export function pathOf(tree: Tree, number: number): number[] {
  const path = [];
  for (let at = number; at >= 0; at = tree.nodes[at]?.[0] ?? -1) path.push(at);
  return path;
}

export function place(tree: Tree, withPassed: boolean, columnWidth: number, rowHeight: number): Placed[] {
  const best = new Set(pathOf(tree, tree.best));
  const children = childrenOf(tree, withPassed, best);
  const rows = new Rows();
  const placed: Placed[] = [];

  /** Put a node, its first child, that one's first child, … on a row, then what forks from them below. */
  function putChain(first: number, parent: Placed | null, depth: number): void {
    const chain = [first];
    for (let next = children[first]?.[0]; next !== undefined; next = children[next]?.[0]) chain.push(next);
    const hasScore = tree.nodes[chain.at(-1) ?? 0]?.[5] !== null;
    const above = parent ? parent.y / rowHeight + 1 : 0;
    const row = rows.take(above, depth, depth + chain.length - 1 + (hasScore ? ROOM_FOR_SCORE : 0));
    let before = parent;
    const put = chain.map((number, step) => {
      const node = tree.nodes[number] as TreeNode;
      before = { number, node, x: (depth + step) * columnWidth, y: row * rowHeight, parent: before, onBest: best.has(number) };
      return before;
    });
    placed.push(...put);
    for (const each of put.reverse())
      for (const child of children[each.number]?.slice(1) ?? []) putChain(child, each, each.x / columnWidth + 1);
  }

  putChain(0, null, 0);
  return placed;
}

/** Each node's children that are shown, that of the chosen path first, then the most probable. */
function childrenOf(tree: Tree, withPassed: boolean, best: Set<number>): number[][] {
  const children: number[][] = tree.nodes.map(() => []);
  tree.nodes.forEach(([parent, , , , state], number) => {
    if (number && (withPassed || state !== "passed")) children[parent]?.push(number);
  });
  const weight = (number: number) => (best.has(number) ? Infinity : (tree.nodes[number]?.[3] ?? 0));
  for (const some of children) some.sort((a, b) => weight(b) - weight(a));
  return children;
}

/** Which columns of each row are taken. */
class Rows {
  private taken: [from: number, to: number][][] = [];

  /** Take the first row from a certain one on that is free between two columns. */
  take(above: number, from: number, to: number): number {
    for (let row = above; ; row++) {
      const spans = (this.taken[row] ??= []);
      if (spans.every(([a, b]) => to < a || b < from)) {
        spans.push([from, to]);
        return row;
      }
    }
  }
}
