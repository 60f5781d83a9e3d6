#include "linear.h"

#include <algorithm>
#include <cmath>

namespace prosector {

Linear::Linear(const float* w, const float* b, int n, int k)
    : n(n), k(k), k_padded((k + ALIGN - 1) / ALIGN * ALIGN) {
    const std::size_t outputs = std::size_t(n + TILE - 1) / TILE * TILE;
    weight.assign(outputs * k_padded, 0);
    scale.assign(outputs, 0.0f);
    bias.assign(outputs, 0.0f);
    sum.assign(outputs, 0);
    for (int row = 0; row < n; ++row) {
        const float* values = w + std::size_t(row) * k;
        float largest = 1e-8f;
        for (int i = 0; i < k; ++i) largest = std::max(largest, std::fabs(values[i]));
        scale[row] = largest / 127.0f;
        std::int8_t* out = weight.data() + std::size_t(row / BLOCK) * BLOCK * k_padded + row % BLOCK * 4;
        for (int i = 0; i < k; ++i) {
            const int value = int(std::nearbyint(values[i] / scale[row]));
            out[i / 4 * BLOCK * 4 + i % 4] = std::int8_t(value);
            sum[row] += value;
        }
        if (b) bias[row] = b[row];
    }
}

}  // namespace prosector
