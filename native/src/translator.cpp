#include "translator.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <stdexcept>
#include <thread>

namespace prosector {

namespace {

constexpr int MOST_ROWS = 64;  // targets written at once by a thread: more no longer makes a step cheaper

// The bounds of groups of about equal size, at least one for each thread.
std::vector<int> groups_of(int n, int beam, int threads) {
    const int most = std::max(1, MOST_ROWS / beam);
    const int number = std::max((n + most - 1) / most, std::min(n, threads));
    std::vector<int> bounds;
    for (int i = 0; i <= number; ++i) bounds.push_back(int((long long)(n)*i / number));
    return bounds;
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
    const std::vector<int> bounds = groups_of(int(sources.size()), std::max(1, how.beam), threads);
    std::atomic<std::size_t> next{0};
    std::exception_ptr fault;
    const auto work_on = [&] {
        auto work = borrow();
        try {
            for (std::size_t group = next++; group + 1 < bounds.size(); group = next++) {
                const std::vector<Source> some(sources.begin() + bounds[group], sources.begin() + bounds[group + 1]);
                auto targets = prosector::search(model_, *work, some, how, special_, wordiness_);
                std::move(targets.begin(), targets.end(), found.begin() + bounds[group]);
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            fault = std::current_exception();
        }
        give_back(std::move(work));
    };
    const int helpers = std::min<int>(threads, int(bounds.size()) - 1) - 1;
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
