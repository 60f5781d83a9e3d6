"""The tree of a beam search: the search itself is untouched, and each node's fate is true."""

import torch

from prosector.data.batching import pad
from prosector.decoding import beam_search
from prosector.explain.tree import Tree, recorder


def searched(translator, text, **options):
    tree = Tree()
    src, longest = pad([translator.ids(text)]), 30
    with torch.inference_mode():
        [found] = beam_search(translator.model, src, longest, kind=recorder(tree), n_best=1, **options)
        [plain] = beam_search(translator.model, src, longest, n_best=1, **options)
    assert found == plain
    return tree, found[0]


def test_the_search_is_the_same_and_its_end_is_in_the_tree(translator):
    tree, best = searched(translator, "我喜欢深度学习。", beam=4)
    end = tree.nodes[tree.places[*best.ids, 3]]
    assert end.state == "finished"
    assert (end.score, end.total) == (best.score, best.log_p)


def test_every_node_has_its_fate(translator):
    tree, best = searched(translator, "今天天气很好，我们去公园吧。", beam=3)
    children = {}
    for number, node in enumerate(tree.nodes[1:], start=1):
        children.setdefault(node.parent, []).append(number)
        assert node.total == tree.nodes[node.parent].total + node.log_p
        assert tree.places[tuple(tree.path(number))] == number
    for number, node in enumerate(tree.nodes):
        below = [tree.nodes[child].state for child in children.get(number, [])]
        went_on = any(state != "passed" for state in below)
        assert (node.state == "kept") == went_on, (number, node)
        if node.state in ("passed", "finished", "hopeless"):
            assert not below
    # so many are in the beam at each step, what has finished keeping its place
    depth = [len(tree.path(number)) for number in range(len(tree.nodes))]
    for step in range(1, max(depth) + 1):
        held = [n for n, node in enumerate(tree.nodes) if depth[n] == step and node.state != "passed"]
        assert len(held) <= 3
    assert best.finished


def test_a_beam_of_one_is_a_line(translator):
    tree, best = searched(translator, "谢谢你。", beam=1)
    kept = [node for node in tree.nodes[1:] if node.state != "passed"]
    assert [node.token for node in kept] == [*best.ids, 3]


def test_what_is_cut_is_no_end(translator):
    tree = Tree()
    with torch.inference_mode():
        [[found]] = beam_search(
            translator.model, pad([translator.ids("我喜欢深度学习。")]), 2, beam=2, kind=recorder(tree)
        )
    state = tree.at(found.ids).state
    assert state == ("kept" if found.finished else "cut")
