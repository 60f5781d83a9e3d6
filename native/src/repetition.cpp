// The repetition guard; `prosector/decoding/repetition.py` says why.
#include <algorithm>

#include "search.h"

namespace prosector {

std::vector<int> forbidden_next(const std::vector<int>& written, Allowed allowed,
                                const std::vector<std::uint8_t>& wordiness) {
    std::vector<int> forbidden;
    const int length = int(written.size()), fewest = std::min(allowed.words, allowed.signs);
    const auto back = [&](int i) { return written[length - i]; };  // back(1) is the last
    for (int n = 1; n <= (length + 1) / (fewest + 1); ++n) {
        if (n + 1 > length || back(1) != back(1 + n)) continue;
        int words = 0;
        for (int i = 1; i <= n; ++i) words += wordiness[back(i)];
        const int m = (words >= 2 ? allowed.words : allowed.signs) * n - 1;
        if (m + n > length) continue;
        bool again = true;
        for (int i = 1; i <= m && again; ++i) again = back(i) == back(i + n);
        if (again) forbidden.push_back(back(n));
    }
    return forbidden;
}

}  // namespace prosector
