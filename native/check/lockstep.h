// Two kinds of kernels in step, so that every number of the one can be held beside the other's.
//
// Sums of whole numbers are exact in all of them. Floats are summed in another order and differ in the last digits, which shows
// where a number is rounded, to a whole one before a map or to 16 bits, and lies next to the middle between two of those: it
// goes up here and down there, and from then on all is a little different. So the second is given the first's roundings,
// and what is left between them is what they computed otherwise.
#pragma once

#include <string>
#include <vector>

#include "build.h"

namespace prosector {

struct Agreement {
    std::size_t numbers = 0;  // that were rounded
    std::size_t turned = 0;   // of these, otherwise
    double before = 0;        // the largest difference before rounding, in parts of the largest number of its row
    double logits = 0;        // the largest difference of two logits

    void add(const Agreement& other);
};

// A model as some kernels read it.
struct Side {
    Side(const Settings& settings, const Arrays& arrays, const std::string& name)
        : kernels(choose(name)), model(build(settings, arrays, kernels)) {}
    const Kernels& kernels;
    Model model;
};

// Both read a source and write one target of it.
Agreement in_step(const Side& one, const Side& other, const std::vector<int>& source, const std::vector<int>& target,
                  int first_token);

}  // namespace prosector
