// Beam search. A finished hypothesis keeps its place in the beam, so the beam narrows as it ends, and its end is exact.
#include <limits>

#include "search.h"

namespace prosector {

namespace {

struct Begun {
    std::vector<int> ids;
    double log_p = 0;
};

struct Candidate {
    double log_p;
    int parent, token;  // parent -1: a finished one, which keeps its place
};

// The n of the highest score, of equal ones the earlier.
std::vector<Hypothesis> best(std::vector<Hypothesis> found, int n) {
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    if (int(found.size()) > n) found.resize(n);
    return found;
}

class Beam : public Writing {
  public:
    Beam(const Source& source, const Search& how, const Vocabulary& vocabulary)
        : source_(source), how_(how), vocabulary_(vocabulary) {}

    std::vector<Next> advance(const Kernels& kernels, std::vector<Outlook> outlooks) override {
        const bool longest = int(running_[0].ids.size()) == source_.longest;  // all are as long: they can end, or are cut
        if (longest) {
            cut_.clear();
            for (const Begun& one : running_) cut_.push_back(hypothesis(one.ids, one.log_p, false, how_.alpha));
        }
        std::vector<Candidate> all;
        for (double log_p : held_) all.push_back({log_p, -1, -1});
        std::vector<int> likeliest(how_.beam);
        for (std::size_t row = 0; row < running_.size(); ++row) {
            Outlook& outlook = outlooks[row];
            const float whole = kernels.log_sum(outlook.logits, outlook.n);
            forbid(outlook, running_[row].ids, source_, how_, vocabulary_);
            const int n = kernels.top(outlook.logits, outlook.n, how_.beam, likeliest.data());
            for (int i = 0; i < n; ++i) {
                const int token = outlook.word(likeliest[i]);
                if (longest && !contains(vocabulary_.ends, token)) continue;
                all.push_back({running_[row].log_p + outlook.logits[likeliest[i]] - whole, int(row), token});
            }
        }
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.log_p > b.log_p; });
        if (int(all.size()) > how_.beam) all.resize(how_.beam);
        std::vector<Next> next = chosen(all);
        if (decided()) {
            running_.clear();
            next.clear();
        }
        return next;
    }

    std::vector<Hypothesis> result() const override { return best(finished_.empty() ? cut_ : finished_, how_.n_best); }

    std::vector<int> certain() const override {
        std::vector<const std::vector<int>*> all;
        for (const Begun& one : running_) all.push_back(&one.ids);
        for (const Hypothesis& one : finished_) all.push_back(&one.ids);
        std::vector<int> shared = *all[0];
        for (const std::vector<int>* ids : all) {
            std::size_t same = 0;
            while (same < shared.size() && same < ids->size() && shared[same] == (*ids)[same]) ++same;
            shared.resize(same);
        }
        return shared;
    }

  private:
    // The candidates go on, end, or stay ended.
    std::vector<Next> chosen(const std::vector<Candidate>& candidates) {
        std::vector<Begun> begun = std::move(running_);
        std::vector<double> ended;
        std::vector<Next> next;
        running_.clear();
        held_.clear();
        for (const Candidate& one : candidates) {
            if (one.parent < 0) {
                held_.push_back(one.log_p);
            } else if (contains(vocabulary_.ends, one.token)) {
                ended.push_back(one.log_p);
                finished_.push_back(hypothesis(begun[one.parent].ids, one.log_p, true, how_.alpha));
            } else {
                running_.push_back({begun[one.parent].ids, one.log_p});
                running_.back().ids.push_back(one.token);
                next.push_back({one.parent, one.token});
            }
        }
        held_.insert(held_.end(), ended.begin(), ended.end());
        return next;
    }

    // Whether no running hypothesis can still come among the n best.
    bool decided() const {
        if (int(finished_.size()) < how_.n_best || running_.empty()) return false;
        const double to_beat = best(finished_, how_.n_best).back().score;
        double hope = running_[0].log_p;
        for (const Begun& one : running_) hope = std::max(hope, one.log_p);
        return normalised(hope, std::size_t(source_.longest) + 1, how_.alpha) <= to_beat;
    }

    const Source& source_;
    const Search& how_;
    const Vocabulary& vocabulary_;
    std::vector<Begun> running_{Begun{}};
    std::vector<double> held_;  // Σ log p of the finished hypotheses in the beam
    std::vector<Hypothesis> finished_, cut_;
};

}  // namespace

std::unique_ptr<Writing> beam(const Source& source, const Search& how, const Vocabulary& vocabulary) {
    return std::make_unique<Beam>(source, how, vocabulary);
}

}  // namespace prosector
