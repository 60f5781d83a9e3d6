// A model with its kernels, for many sources and several threads.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "build.h"
#include "search.h"
#include "team.h"

namespace prosector {

class Translator {
  public:
    Translator(const Settings& settings, const Arrays& arrays, Vocabulary vocabulary, Shortlist shortlist,
               const std::string& kernels);

    // Each source's targets. Sources wait in one queue, from which each thread takes some as soon as it has room; what is
    // found depends neither on the others nor on the threads.
    std::vector<std::vector<Hypothesis>> search(const std::vector<Source>& sources, const Search& how, int threads);

    const Kernels& kernels() const { return kernels_; }

  private:
    friend class Stream;
    void check(const std::vector<Source>& sources, const Search& how) const;
    int most_rows() const;
    std::unique_ptr<Work> borrow();
    void give_back(std::unique_ptr<Work> work);

    const Kernels& kernels_;
    Model model_;
    Vocabulary vocabulary_;
    Shortlist shortlist_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Work>> idle_;  // room that was used before
    Team team_;
};

// The targets of one source while they are written. The translator has to outlive it.
class Stream {
  public:
    Stream(Translator& translator, Source source, const Search& how);
    Stream(const Stream&) = delete;
    bool step();  // false once it is over
    std::vector<int> certain() const { return certain_; }  // what every target that can still win begins with
    const std::vector<Hypothesis>& result() const { return result_; }  // once it is over

  private:
    Source source_;
    Search how_;
    Work work_;
    Searches searches_;
    std::vector<int> certain_;
    std::vector<Hypothesis> result_;
};

// How often each kind of kernels has computed a linear map in this process, by name.
std::vector<std::pair<std::string, std::uint64_t>> counts();

}  // namespace prosector
