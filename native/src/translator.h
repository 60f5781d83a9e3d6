// A model with its kernels, for many sources and several threads.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "build.h"
#include "search.h"

namespace prosector {

class Translator {
  public:
    Translator(const Settings& settings, const Arrays& arrays, Special special, std::vector<std::uint8_t> wordiness,
               const std::string& kernels);

    // Each source's targets. Sources are shared out among threads in groups; what is found depends on neither.
    std::vector<std::vector<Hypothesis>> search(const std::vector<Source>& sources, const Search& how, int threads);

    const Kernels& kernels() const { return kernels_; }

  private:
    std::unique_ptr<Work> borrow();
    void give_back(std::unique_ptr<Work> work);

    const Kernels& kernels_;
    Model model_;
    Special special_;
    std::vector<std::uint8_t> wordiness_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Work>> idle_;  // room that was used before
};

// How often each kind of kernels has computed a linear map in this process, by name.
std::vector<std::pair<std::string, std::uint64_t>> counts();

}  // namespace prosector
