#include "translator.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace prosector {

namespace {

constexpr int MOST_ROWS = 64;  // targets written at once by a thread: more no longer makes a step cheaper

// The sources in groups, by their numbers: as many groups for each thread, and all of about the same work, the longest
// sources being dealt out first.
std::vector<std::vector<int>> groups_of(const std::vector<Source>& sources, int beam, int threads) {
    const int n = int(sources.size()), most = std::max(1, MOST_ROWS / beam), share = std::max(1, std::min(n, threads));
    const int rounds = (n + most * share - 1) / (most * share);
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return sources[a].ids.size() > sources[b].ids.size(); });
    std::vector<std::vector<int>> groups(std::size_t(rounds) * share);
    for (int i = 0; i < n; ++i) groups[i % groups.size()].push_back(order[i]);
    return groups;
}

}  // namespace

Translator::Translator(const Settings& settings, const Arrays& arrays, Special special,
                       std::vector<std::uint8_t> wordiness, const std::string& kernels)
    : kernels_(choose(kernels)),
      model_(build(settings, arrays)),
      special_(std::move(special)),
      wordiness_(std::move(wordiness)) {
    if (int(wordiness_.size()) < model_.target_words) wordiness_.resize(model_.target_words, 2);
}

std::vector<std::vector<Hypothesis>> Translator::search(const std::vector<Source>& sources, const Search& how,
                                                        int threads) {
    for (const Source& source : sources) {
        if (source.ids.empty()) throw std::invalid_argument("a source has no tokens");
        for (int id : source.ids)
            if (id < 0 || id >= model_.source_words)
                throw std::invalid_argument("a source has the id " + std::to_string(id) + ", and the vocabulary ends at " +
                                            std::to_string(model_.source_words - 1));
    }
    std::vector<std::vector<Hypothesis>> found(sources.size());
    const auto groups = groups_of(sources, std::max(1, how.beam), threads);
    std::atomic<std::size_t> next{0};
    std::exception_ptr fault;
    const auto work_on = [&] {
        auto work = borrow();
        try {
            for (std::size_t group = next++; group < groups.size(); group = next++) {
                std::vector<Source> some;
                for (int number : groups[group]) some.push_back(sources[number]);
                auto targets = prosector::search(model_, *work, some, how, special_, wordiness_);
                for (std::size_t i = 0; i < targets.size(); ++i) found[groups[group][i]] = std::move(targets[i]);
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            fault = std::current_exception();
        }
        give_back(std::move(work));
    };
    const int helpers = std::min<int>(threads, int(groups.size())) - 1;
    std::vector<std::thread> team;
    for (int i = 0; i < helpers; ++i) team.emplace_back(work_on);
    work_on();
    for (std::thread& thread : team) thread.join();
    if (fault) std::rethrow_exception(fault);
    return found;
}

std::unique_ptr<Work> Translator::borrow() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return std::make_unique<Work>(kernels_);
    auto work = std::move(idle_.back());
    idle_.pop_back();
    return work;
}

void Translator::give_back(std::unique_ptr<Work> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(work));
}

std::vector<std::pair<std::string, std::uint64_t>> counts() {
    std::vector<std::pair<std::string, std::uint64_t>> found;
    for (const Kernels* kernels : all_kernels()) found.emplace_back(kernels->name, kernels->calls->load());
    return found;
}

}  // namespace prosector
