// What the core is given, read from one file that `case.py` wrote: a model, sources, and the ways to translate them.
//
// The file is text, word by word, and then the arrays' numbers, float32, little-endian, one array behind the other:
//
//   prosector-case 1
//   set NAME VALUE                          a setting, as `prosector.decoding.native.settings_of` names it
//   first ID, end ID, unwritten ID          special tokens
//   wordiness N, then N numbers
//   array NAME SIDES, then so many sizes
//   way NAME BEAM ALPHA N_BEST SAMPLING TEMPERATURE TOP_K TOP_P GUARDED
//   source LONGEST WORDS SIGNS N, then N ids, then LONGEST + 1 chances
//   data, and a line's end
#pragma once

#include <string>
#include <vector>

#include "build.h"
#include "search.h"

namespace prosector {

struct Way {
    std::string name;
    Search how;
};

struct Case {
    Settings settings;
    Vocabulary vocabulary;
    std::vector<Way> ways;
    std::vector<Source> sources;
    Arrays arrays;                // these point into `numbers`
    std::vector<float> numbers;
};

// Throws std::invalid_argument if it is no such file, or cut off.
Case read_case(const std::string& path);

}  // namespace prosector
