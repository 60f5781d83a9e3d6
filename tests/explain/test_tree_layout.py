"""A tree is laid out so that no two nodes share a place and the chosen path is a straight line."""

from hypothesis import given
from hypothesis import strategies as st

from prosector.explain.tree_layout import place

STATES = ("kept", "overtaken", "hopeless", "finished", "passed")


@st.composite
def trees(draw):
    """Any tree: each node after its parent; what was passed has no children."""
    nodes = [[-1, -1, 0.0, 0.0, "kept", None]]
    for number in range(1, draw(st.integers(2, 25))):
        open_ = [parent for parent, node in enumerate(nodes) if node[4] == "kept"]
        log_p = draw(st.floats(-5, 0))
        parent = draw(st.sampled_from(open_))
        state = draw(st.sampled_from(STATES))
        score = -1.0 if state == "finished" else None
        nodes.append([parent, number, log_p, nodes[parent][3] + log_p, state, score])
    shown = [number for number, node in enumerate(nodes) if node[4] != "passed"]
    return {"nodes": nodes, "best": draw(st.sampled_from(shown))}


@given(trees())
def test_for_every_tree_each_node_has_a_place_of_its_own(tree):
    placed = place(tree)
    assert len(placed) == sum(node[4] != "passed" for node in tree["nodes"])
    taken = [(node.depth, node.row) for node in placed]
    taken += [(node.depth + 1, node.row) for node in placed if node.score is not None]  # where the score is written
    assert len(set(taken)) == len(taken)


@given(trees())
def test_for_every_tree_children_stand_one_step_further_and_never_above(tree):
    for node in place(tree):
        if node.parent is not None:
            assert node.depth == node.parent.depth + 1
            assert node.row >= node.parent.row


@given(trees())
def test_for_every_tree_the_chosen_path_is_the_first_row(tree):
    best = [node for node in place(tree) if node.on_best]
    assert {node.row for node in best} == {0}
    assert [node.depth for node in best] == list(range(len(best)))
