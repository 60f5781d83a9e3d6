// One target a source: always the likeliest word, or one by chance.
#include <limits>
#include <numeric>

#include "search.h"

namespace prosector {

namespace {

class Path : public Writing {
  public:
    Path(const Source& source, const Search& how, const Vocabulary& vocabulary)
        : source_(source), how_(how), vocabulary_(vocabulary) {}

    std::vector<Next> advance(const Kernels& kernels, std::vector<Outlook> outlooks) override {
        Outlook& outlook = outlooks[0];
        const float whole = kernels.log_sum(outlook.logits, outlook.n);  // of all words, also those that must not come
        forbid(outlook, written_, source_, how_, vocabulary_);
        int index = 0;
        if (how_.sampling)
            index = draw(outlook.logits, outlook.n, how_, source_.chances[written_.size()]);
        else
            kernels.top(outlook.logits, outlook.n, 1, &index);
        const int token = outlook.word(index);
        finished_ = contains(vocabulary_.ends, token);
        if (!finished_ && int(written_.size()) == source_.longest) return {};
        log_p_ += outlook.logits[index] - whole;
        if (finished_) return {};
        written_.push_back(token);
        return {{0, token}};
    }

    std::vector<Hypothesis> result() const override { return {hypothesis(written_, log_p_, finished_, how_.alpha)}; }
    std::vector<int> certain() const override { return written_; }

  private:
    const Source& source_;
    const Search& how_;
    const Vocabulary& vocabulary_;
    std::vector<int> written_;
    double log_p_ = 0;
    bool finished_ = false;
};

}  // namespace

std::unique_ptr<Writing> greedy_or_sampling(const Source& source, const Search& how, const Vocabulary& vocabulary) {
    return std::make_unique<Path>(source, how, vocabulary);
}

int draw(const float* logits, int n, const Search& how, double chance) {
    double highest = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < n; ++i) highest = std::max(highest, double(logits[i]));
    std::vector<double> p(n);
    for (int i = 0; i < n; ++i) p[i] = std::exp((double(logits[i]) - highest) / how.temperature);
    if (how.top_k || how.top_p) {
        std::vector<int> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return p[a] > p[b]; });
        int kept = how.top_k ? std::min(how.top_k, n) : n;
        if (how.top_p) {
            double whole = 0, before = 0;
            for (int i = 0; i < kept; ++i) whole += p[order[i]];
            int nucleus = 0;
            for (; nucleus < kept && (nucleus == 0 || before / whole < how.top_p); ++nucleus) before += p[order[nucleus]];
            kept = nucleus;
        }
        for (int i = kept; i < n; ++i) p[order[i]] = 0;
    }
    double whole = 0;
    for (double share : p) whole += share;
    double up_to = 0;
    int last = 0;
    for (int i = 0; i < n; ++i) {
        if (p[i] == 0) continue;
        up_to += p[i];
        last = i;
        if (up_to / whole > chance) return i;
    }
    return last;
}

}  // namespace prosector
