// The beam as a tree: one column a step, one row for each hypothesis, no line crossing another.
import { hierarchy, type HierarchyNode } from "d3-hierarchy";
import type { Tree, TreeNode } from "../document";

export interface Placed {
  number: number;
  node: TreeNode;
  x: number;
  y: number;
  parent: Placed | null;
  onBest: boolean;
}

interface Branch {
  number: number;
  children: Branch[];
}

export function place(tree: Tree, withPassed: boolean, columnWidth: number, rowHeight: number): Placed[] {
  const branches: Branch[] = tree.nodes.map((_, number) => ({ number, children: [] }));
  tree.nodes.forEach(([parent, , , , state], number) => {
    if (number && (withPassed || state !== "passed")) branches[parent]?.children.push(branches[number] as Branch);
  });
  const best = new Set(pathOf(tree, tree.best));
  const heaviness = (branch: Branch): number => (best.has(branch.number) ? Infinity : (tree.nodes[branch.number]?.[3] ?? 0));
  for (const branch of branches) branch.children.sort((a, b) => heaviness(b) - heaviness(a));
  const root = hierarchy(branches[0] as Branch);
  let row = 0;
  const placed = new Map<HierarchyNode<Branch>, Placed>();
  root.eachBefore((node) => {
    const first = node.parent?.children?.[0] === node;
    if (node.parent && !first) row += 1;
    const parent = node.parent ? (placed.get(node.parent) ?? null) : null;
    const number = node.data.number;
    placed.set(node, {
      number,
      node: tree.nodes[number] as TreeNode,
      x: node.depth * columnWidth,
      y: row * rowHeight,
      parent,
      onBest: best.has(number),
    });
  });
  return [...placed.values()];
}

/** The nodes from a node to the beginning. */
export function pathOf(tree: Tree, number: number): number[] {
  const path = [];
  for (let at = number; at >= 0; at = tree.nodes[at]?.[0] ?? -1) path.push(at);
  return path;
}
