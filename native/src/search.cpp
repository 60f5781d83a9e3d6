#include "search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace prosector {

namespace {

constexpr float NEVER = -std::numeric_limits<float>::infinity();

bool contains(const std::vector<int>& ids, int id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

double normalised(double log_p, std::size_t length, double alpha) {
    return log_p / std::pow(double(std::max<std::size_t>(length, 1)), alpha);
}

Hypothesis hypothesis(std::vector<int> ids, double log_p, bool finished, double alpha) {
    const double score = normalised(log_p, ids.size() + finished, alpha);
    return {std::move(ids), log_p, score, finished};
}

// The n of the highest score, of equal ones the earlier.
std::vector<Hypothesis> best(std::vector<Hypothesis> found, int n) {
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    if (int(found.size()) > n) found.resize(n);
    return found;
}

// A row of logits without what must not come.
void forbid(float* logits, const std::vector<int>& written, const Source& source, const Search& how,
            const Special& special, const std::vector<std::uint8_t>& wordiness) {
    for (int id : special.unwritten) logits[id] = NEVER;
    if (how.guarded)
        for (int id : forbidden_next(written, source.allowed, wordiness)) logits[id] = NEVER;
}

// --- one target a source -----------------------------------------------------------------------------------------

std::vector<std::vector<Hypothesis>> one_path(const Model& model, Work& work, const std::vector<Source>& sources,
                                              const Memory& memory, const Search& how, const Special& special,
                                              const std::vector<std::uint8_t>& wordiness) {
    const int n_words = model.output.n;
    std::vector<std::vector<int>> written(sources.size());
    std::vector<double> log_p(sources.size(), 0.0);
    std::vector<char> finished(sources.size(), 0);
    Targets targets(model, memory, work);
    std::vector<int> going(sources.size()), parents, last(sources.size(), special.first);
    std::iota(going.begin(), going.end(), 0);
    parents = going;
    while (!going.empty()) {
        float* rows = targets.step(last, going, parents);
        std::vector<int> still;
        parents.clear();
        last.clear();
        for (std::size_t row = 0; row < going.size(); ++row) {
            const int source = going[row];
            float* words = rows + row * std::size_t(n_words);
            const float whole = work.kernels.log_sum(words, n_words);  // of all words, also those that must not come
            forbid(words, written[source], sources[source], how, special, wordiness);
            int token = 0;
            if (how.sampling)
                token = draw(words, n_words, how, sources[source].chances[written[source].size()]);
            else
                work.kernels.top(words, n_words, 1, &token);
            if (contains(special.ends, token)) {
                log_p[source] += words[token] - whole;
                finished[source] = 1;
            } else if (int(written[source].size()) < sources[source].longest) {
                log_p[source] += words[token] - whole;
                written[source].push_back(token);
                still.push_back(source);
                parents.push_back(int(row));
                last.push_back(token);
            }
        }
        going = std::move(still);
    }
    std::vector<std::vector<Hypothesis>> found;
    for (std::size_t i = 0; i < sources.size(); ++i)
        found.push_back({hypothesis(std::move(written[i]), log_p[i], finished[i], how.alpha)});
    return found;
}

// --- beam --------------------------------------------------------------------------------------------------------

struct Running {
    std::vector<int> ids;
    double log_p = 0;
};

struct Candidate {
    double log_p;
    int parent, token;  // parent -1: a finished one, which keeps its place
};

// The search for one source's target.
struct Beam {
    std::vector<Running> running{Running{}};
    std::vector<double> held;  // Σ log p of the finished hypotheses in the beam
    std::vector<Hypothesis> finished, cut;

    // One step on, from each running hypothesis' likeliest words. Returns whom each of the new ones goes on from.
    std::vector<int> advance(std::vector<std::vector<Candidate>> following, int longest, const Search& how,
                             const Special& special) {
        if (!running.empty() && int(running[0].ids.size()) == longest) {  // all are as long: they can end, or are cut
            cut.clear();
            for (std::size_t i = 0; i < running.size(); ++i) {
                cut.push_back(hypothesis(running[i].ids, running[i].log_p, false, how.alpha));
                auto& some = following[i];
                some.erase(std::remove_if(some.begin(), some.end(),
                                          [&](const Candidate& c) { return !contains(special.ends, c.token); }),
                           some.end());
            }
        }
        std::vector<Candidate> all;
        for (double log_p : held) all.push_back({log_p, -1, -1});
        for (const auto& some : following) all.insert(all.end(), some.begin(), some.end());
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.log_p > b.log_p; });
        if (int(all.size()) > how.beam) all.resize(how.beam);

        std::vector<Running> begun = std::move(running);
        std::vector<double> ended;
        std::vector<int> parents;
        running.clear();
        held.clear();
        for (const Candidate& chosen : all) {
            if (chosen.parent < 0) {
                held.push_back(chosen.log_p);
            } else if (contains(special.ends, chosen.token)) {
                ended.push_back(chosen.log_p);
                finished.push_back(hypothesis(begun[chosen.parent].ids, chosen.log_p, true, how.alpha));
            } else {
                running.push_back({begun[chosen.parent].ids, chosen.log_p});
                running.back().ids.push_back(chosen.token);
                parents.push_back(chosen.parent);
            }
        }
        held.insert(held.end(), ended.begin(), ended.end());
        if (decided(longest, how)) {
            running.clear();
            parents.clear();
        }
        return parents;
    }

    // Whether no running hypothesis can still come among the n best.
    bool decided(int longest, const Search& how) const {
        if (int(finished.size()) < how.n_best || running.empty()) return false;
        const double to_beat = best(finished, how.n_best).back().score;
        double hope = running[0].log_p;
        for (const Running& one : running) hope = std::max(hope, one.log_p);
        return normalised(hope, std::size_t(longest) + 1, how.alpha) <= to_beat;
    }

    std::vector<Hypothesis> result(int n) const { return best(finished.empty() ? cut : finished, n); }
};

std::vector<std::vector<Hypothesis>> beams(const Model& model, Work& work, const std::vector<Source>& sources,
                                           const Memory& memory, const Search& how, const Special& special,
                                           const std::vector<std::uint8_t>& wordiness) {
    const int n_words = model.output.n;
    std::vector<Beam> all(sources.size());
    Targets targets(model, memory, work);
    std::vector<int> whose(sources.size()), parents, last(sources.size(), special.first), likeliest(how.beam);
    std::iota(whose.begin(), whose.end(), 0);
    parents = whose;
    while (!whose.empty()) {
        float* rows = targets.step(last, whose, parents);
        std::vector<int> going;
        parents.clear();
        last.clear();
        int row = 0;
        for (std::size_t source = 0; source < sources.size(); ++source) {
            Beam& beam = all[source];
            const int start = row;
            std::vector<std::vector<Candidate>> following;
            for (std::size_t i = 0; i < beam.running.size(); ++i, ++row) {
                float* words = rows + std::size_t(row) * n_words;
                const float whole = work.kernels.log_sum(words, n_words);
                forbid(words, beam.running[i].ids, sources[source], how, special, wordiness);
                const int n = work.kernels.top(words, n_words, how.beam, likeliest.data());
                following.emplace_back();
                for (int j = 0; j < n; ++j)
                    following.back().push_back({beam.running[i].log_p + words[likeliest[j]] - whole, int(i), likeliest[j]});
            }
            if (following.empty()) continue;
            for (int parent : beam.advance(std::move(following), sources[source].longest, how, special))
                parents.push_back(start + parent);
            for (const Running& one : beam.running) {
                going.push_back(int(source));
                last.push_back(one.ids.back());
            }
        }
        whose = std::move(going);
    }
    std::vector<std::vector<Hypothesis>> found;
    for (const Beam& beam : all) found.push_back(beam.result(how.n_best));
    return found;
}

}  // namespace

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

std::vector<std::vector<Hypothesis>> search(const Model& model, Work& work, const std::vector<Source>& sources,
                                            const Search& how, const Special& special,
                                            const std::vector<std::uint8_t>& wordiness) {
    if (sources.empty()) return {};
    std::vector<std::vector<int>> ids;
    for (const Source& source : sources) ids.push_back(source.ids);
    const Memory memory = encode(model, work, ids);
    const auto find = how.sampling || how.beam == 1 ? one_path : beams;
    return find(model, work, sources, memory, how, special, wordiness);
}

}  // namespace prosector
