// A shortlist: for each word of a source, the words that it is likely to be translated by. Only those, and some that
// always count, then get a logit; the others cannot come.
#pragma once

#include <vector>

#include "linear.h"

namespace prosector {

struct Shortlist {
    std::vector<int> start;   // of each source word's list among all, and the end
    std::vector<int> words;   // all lists, one behind the other
    std::vector<int> always;  // words that count whatever the source
    bool empty() const { return start.empty(); }
    // The words of a source, ascending, of `n_words`.
    std::vector<int> of(const std::vector<int>& source, int n_words) const;
};

// Some words, ascending, and the map to their logits alone, once it is needed.
struct Words {
    std::vector<int> ids;
    Linear map;
};

}  // namespace prosector
