// The core without Python, to be run on machines that have none, or watched from outside.
//
//   check halves                             every float of 16 bits, by every kind of kernels that runs here
//   check translate CASE [THREADS [KERNELS...]]  what each finds, a line a hypothesis
//   check compare CASE ONE OTHER             how far two kinds agree, number by number
//
// CASE is a file that `case.py` wrote.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "case.h"
#include "halves.h"
#include "lockstep.h"
#include "translator.h"

using namespace prosector;

namespace {

// What last digits come to, if both kinds round alike: of what is about to be rounded, in parts of its row's largest, and of logits.
constexpr double NEAR = 1e-5, SAME = 1e-4;

int halves() {
    int wrong = 0;
    for (const Kernels* kernels : all_kernels()) {
        if (!runs_here(*kernels)) continue;
        const int these = wrong_halves(*kernels);
        std::printf("%s: %d of 63,488 floats of 16 bits are wrong\n", kernels->name, these);
        wrong += these;
    }
    return wrong ? 1 : 0;
}

Translator translator_of(const Case& given, const std::string& kernels) {
    return Translator(given.settings, given.arrays, given.vocabulary, {}, kernels);
}

// Runs `work` and throws unless these kernels, and no others, have computed.
template <class F>
void counted(const std::string& kernels, F work) {
    const auto before = counts();
    work();
    const auto after = counts();
    for (std::size_t i = 0; i < after.size(); ++i) {
        const auto calls = after[i].second - before[i].second;
        if ((calls > 0) != (after[i].first == kernels))
            throw std::logic_error(kernels + " were asked for, and " + after[i].first + " computed " +
                                   std::to_string(calls) + " maps");
        if (calls) std::fprintf(stderr, "%s: %llu maps, and none by others\n", kernels.c_str(), (unsigned long long)calls);
    }
}

int translate(const Case& given, int threads, const std::vector<std::string>& names) {
    for (const std::string& kernels : names) {
        auto translator = translator_of(given, kernels);
        counted(kernels, [&] {
            for (const Way& way : given.ways) {
                const auto found = translator.search(given.sources, way.how, threads);
                for (std::size_t source = 0; source < found.size(); ++source)
                    for (const Hypothesis& one : found[source]) {
                        std::printf("%s\t%s\t%zu\t%d\t%.17g\t%.17g\t", kernels.c_str(), way.name.c_str(), source,
                                    int(one.finished), one.log_p, one.score);
                        for (int id : one.ids) std::printf(" %d", id);
                        std::printf("\n");
                    }
            }
        });
    }
    return 0;
}

int compare(const Case& given, const std::string& one, const std::string& other) {
    auto here = translator_of(given, one), there = translator_of(given, other);
    const Side mine(given.settings, given.arrays, one), yours(given.settings, given.arrays, other);
    Agreement agreement;
    for (const Way& way : given.ways) {
        const auto ours = here.search(given.sources, way.how, 1), theirs = there.search(given.sources, way.how, 1);
        int alike = 0;
        for (std::size_t i = 0; i < ours.size(); ++i) {
            alike += ours[i][0].ids == theirs[i][0].ids;
            for (const Hypothesis* written : {&ours[i][0], &theirs[i][0]})
                agreement.add(in_step(mine, yours, given.sources[i].ids, written->ids, given.vocabulary.first));
        }
        std::printf("%s and %s, %s: %d of %zu targets alike\n", one.c_str(), other.c_str(), way.name.c_str(), alike, ours.size());
    }
    std::printf("  in step: %zu of %zu numbers rounded otherwise; before rounding within %.1g of their row's largest; logits within %.1g\n",
                agreement.turned, agreement.numbers, agreement.before, agreement.logits);
    const bool same = agreement.before <= NEAR && agreement.logits <= SAME;
    if (!same) std::printf("  THAT IS MORE THAN LAST DIGITS: %.1g and %.1g are allowed\n", NEAR, SAME);
    return same ? 0 : 1;
}

std::vector<std::string> kernels_here() {
    std::vector<std::string> names;
    for (const Kernels* kernels : all_kernels())
        if (runs_here(*kernels)) names.push_back(kernels->name);
    return names;
}

int run(const std::vector<std::string>& words) {
    if (words.size() == 1 && words[0] == "halves") return halves();
    if (words.size() >= 2 && words[0] == "translate")
        return translate(read_case(words[1]), words.size() > 2 ? std::stoi(words[2]) : 1,
                         words.size() > 3 ? std::vector<std::string>(words.begin() + 3, words.end()) : kernels_here());
    if (words.size() == 4 && words[0] == "compare") return compare(read_case(words[1]), words[2], words[3]);
    std::fprintf(stderr, "check halves | translate CASE [THREADS [KERNELS...]] | compare CASE ONE OTHER\n");
    return 2;
}

}  // namespace

int main(int n, char** words) {
    try {
        return run(std::vector<std::string>(words + 1, words + n));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
