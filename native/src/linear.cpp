#include "linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace prosector {

Linear::Linear(int n, int k, int blocks, Pages& pages)
    : n(n), k(k), k_padded((k + ALIGN - 1) / ALIGN * ALIGN), blocks(blocks) {
    const std::size_t outputs = std::size_t(n + TILE - 1) / TILE * TILE;
    weight = pages.take(bytes());
    scale.assign(outputs, 0.0f);
    bias.assign(outputs, 0.0f);
    sum.assign(outputs, 0);
}

Linear::Linear(const float* w, const float* b, int n, int k, int blocks, Pages& pages) : Linear(n, k, blocks, pages) {
    for (int row = 0; row < n; ++row) {
        const float* values = w + std::size_t(row) * k;
        float largest = 1e-8f;
        for (int i = 0; i < k; ++i) largest = std::max(largest, std::fabs(values[i]));
        scale[row] = largest / 127.0f;
        std::int8_t* out = weight.get() + place(row);
        for (int i = 0; i < k; ++i) {
            const int value = int(std::nearbyint(values[i] / scale[row]));
            out[i / 4 * step() + i % 4] = std::int8_t(value);
            sum[row] += value;
        }
        if (b) bias[row] = b[row];
    }
}

Linear Linear::only(const std::vector<int>& outputs) const {
    Pages pages;
    Linear some(int(outputs.size()), k, blocks, pages);
    for (int row = 0; row < some.n; ++row) {
        const int from = outputs[row];
        const std::int8_t* in = weight.get() + place(from);
        std::int8_t* out = some.weight.get() + some.place(row);
        for (int i = 0; i < k_padded; i += 4, in += step(), out += step()) std::memcpy(out, in, 4);
        some.scale[row] = scale[from];
        some.bias[row] = bias[from];
        some.sum[row] = sum[from];
    }
    return some;
}

}  // namespace prosector
