// Finding targets: greedy, beam and sampling, as `prosector.decoding` does them, step for step.
#pragma once

#include <cstdint>
#include <vector>

#include "model.h"

namespace prosector {

struct Hypothesis {
    std::vector<int> ids;
    double log_p = 0;      // Σ log p, of the end too if it is finished
    double score = 0;      // log_p / lengthᵅ
    bool finished = false;
};

// How often a phrase may stand in a row: one with a word in it, and one without.
struct Allowed {
    int words = 2, signs = 12;
};

struct Special {
    int first = 2;                 // what a target begins with
    std::vector<int> ends;         // what ends it
    std::vector<int> unwritten;    // what is never written
};

struct Search {
    int beam = 1;                  // 1 is greedy
    double alpha = 1;
    int n_best = 1;
    bool sampling = false;
    double temperature = 1;
    int top_k = 0;                 // 0: of all words
    double top_p = 0;              // 0: of all words
    bool guarded = false;          // against repetition
};

// One source, and what is particular to it.
struct Source {
    std::vector<int> ids;
    int longest = 0;               // tokens of the longest target, the end not counted
    Allowed allowed;
    std::vector<double> chances;   // of sampling: a number in [0, 1) for each step
};

// The targets of each source, the best first.
std::vector<std::vector<Hypothesis>> search(const Model& model, Work& work, const std::vector<Source>& sources,
                                            const Search& how, const Special& special,
                                            const std::vector<std::uint8_t>& wordiness);

// The tokens that would complete one copy too many of what is written.
std::vector<int> forbidden_next(const std::vector<int>& written, Allowed allowed,
                                const std::vector<std::uint8_t>& wordiness);

// The word in whose share of [0, 1) the chance falls, of those that temperature, top-k and top-p leave.
int draw(const float* logits, int n, const Search& how, double chance);

}  // namespace prosector
