#include "shortlist.h"

namespace prosector {

std::vector<int> Shortlist::of(const std::vector<int>& source, int n_words) const {
    std::vector<char> there(n_words, 0);
    for (int id : always) there[id] = 1;
    for (int id : source)
        for (int i = start[id]; i < start[id + 1]; ++i) there[words[i]] = 1;
    std::vector<int> ids;
    for (int id = 0; id < n_words; ++id)
        if (there[id]) ids.push_back(id);
    return ids;
}

}  // namespace prosector
