// Finding targets: greedy, beam and sampling, as `prosector.decoding` does them, step for step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model.h"
#include "shortlist.h"

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

// What is particular to the words of a model.
struct Vocabulary {
    int first = 2;                        // what a target begins with
    std::vector<int> ends;                // what ends it
    std::vector<int> unwritten;           // what is never written
    std::vector<std::uint8_t> wordiness;  // of each word, for the repetition guard
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
    bool shortlisted = false;      // only the words of the shortlist
    int width() const { return sampling ? 1 : beam; }
};

// One source, and what is particular to it.
struct Source {
    std::vector<int> ids;
    int longest = 0;               // tokens of the longest target, the end not counted
    Allowed allowed;
    std::vector<double> chances;   // of sampling: a number in [0, 1) for each step
};

// What may come after one row: logits, and which words they are of.
struct Outlook {
    float* logits;
    int n;
    const int* ids;  // ascending; null: every word
    int word(int index) const { return ids ? ids[index] : index; }
    void forbid(int word);
};

// Which of its rows a target goes on from, and with which word.
struct Next {
    int parent, token;
};

// The search for one source's targets.
class Writing {
  public:
    virtual ~Writing() = default;
    // From what may come after each of its rows, the rows of the next step; none once it is over.
    virtual std::vector<Next> advance(const Kernels& kernels, std::vector<Outlook> outlooks) = 0;
    // The targets, the best first.
    virtual std::vector<Hypothesis> result() const = 0;
    // What all targets that can still win begin with.
    virtual std::vector<int> certain() const = 0;
};

std::unique_ptr<Writing> greedy_or_sampling(const Source& source, const Search& how, const Vocabulary& vocabulary);
std::unique_ptr<Writing> beam(const Source& source, const Search& how, const Vocabulary& vocabulary);

// Many searches, a step of all at once. Others can join between two steps, and none depends on the others.
class Searches {
  public:
    Searches(const Model& model, Work& work, const Search& how, const Vocabulary& vocabulary, const Shortlist& shortlist);
    Searches(const Searches&) = delete;

    using Numbered = std::pair<int, const Source*>;
    using Found = std::pair<int, std::vector<Hypothesis>>;

    void begin(const std::vector<Numbered>& sources);
    std::vector<Found> step();  // what was found with it
    int n_running() const { return int(running_.size()); }
    std::vector<int> certain(int which) const { return running_[which].writing->certain(); }

  private:
    struct Running {
        int number;
        std::unique_ptr<Memory> memory;
        std::unique_ptr<Words> words;  // null: all
        std::unique_ptr<Writing> writing;
        std::vector<Row> rows;
        std::vector<int> places;  // of all its rows, also of those that were dropped
    };
    std::vector<std::vector<Outlook>> outlooks(const float* x, int rows);
    static void go_on(Running& one, const std::vector<Next>& next);

    const Model& model_;
    Work& work_;
    const Search& how_;
    const Vocabulary& vocabulary_;
    const Shortlist& shortlist_;
    std::vector<Running> running_;
    bool several_ = false;  // whether there was more than one at a time
};

// A row of logits without what must not come.
void forbid(Outlook& outlook, const std::vector<int>& written, const Source& source, const Search& how,
            const Vocabulary& vocabulary);

// The tokens that would complete one copy too many of what is written.
std::vector<int> forbidden_next(const std::vector<int>& written, Allowed allowed,
                                const std::vector<std::uint8_t>& wordiness);

Hypothesis hypothesis(std::vector<int> ids, double log_p, bool finished, double alpha);

inline double normalised(double log_p, std::size_t length, double alpha) {
    return log_p / std::pow(double(std::max<std::size_t>(length, 1)), alpha);
}

inline bool contains(const std::vector<int>& ids, int id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

// The word in whose share of [0, 1) the chance falls, of those that temperature, top-k and top-p leave.
int draw(const float* logits, int n, const Search& how, double chance);

}  // namespace prosector
