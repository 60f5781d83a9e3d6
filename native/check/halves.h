// Floats of 16 bits, all of them, by every kind of kernels.
#pragma once

#include "kernels.h"

namespace prosector {

// What the bits mean, by the definition: a sign, 5 bits of exponent, 10 of fraction.
float value_of_half(Half bits);

// How many of the 63,488 finite halves do not come back as they were, are not widened exactly, or are not where numbers
// between them and their neighbours are rounded to: the nearest, of two the even, the largest beyond the end.
int wrong_halves(const Kernels& kernels);

}  // namespace prosector
