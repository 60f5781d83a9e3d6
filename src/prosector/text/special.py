"""The four ids that every vocabulary begins with, whatever comes after them."""

PAD, UNK, SOS, EOS = 0, 1, 2, 3
SPECIAL_PIECES = ("<pad>", "<unk>", "<sos>", "<eos>")  # the piece of id 0, 1, 2, 3
N_SPECIAL = len(SPECIAL_PIECES)
