// A linear map in 8-bit integers: y = scale_w · scale_x · (W_int · x_int) + b, scales per row of W and per row of x.
//
// Weights lie in blocks of 16 outputs by 4 inputs, and those of the same inputs together for as many outputs as the
// kernels compute at once, [N/16B][K/4][B][16][4]: so they are read from the first to the last. What is missing to full
// blocks is zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "pages.h"

namespace prosector {

constexpr int BLOCK = 16;             // outputs that lie together
constexpr int TILE = 4 * BLOCK;       // outputs are filled up to a multiple of it

template <class T>
struct Aligned {  // an allocator whose memory begins at a multiple of ALIGN, and is not written before it is used
    using value_type = T;
    Aligned() = default;
    template <class U>
    Aligned(const Aligned<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(reserve(n * sizeof(T))); }
    void deallocate(T* p, std::size_t n) { let_go(p, n * sizeof(T)); }
    template <class U>
    void construct(U* p) { ::new (static_cast<void*>(p)) U; }
    template <class U, class V>
    void construct(U* p, V&& value) { ::new (static_cast<void*>(p)) U(std::forward<V>(value)); }
    bool operator==(const Aligned&) const { return true; }
    bool operator!=(const Aligned&) const { return false; }
};

template <class T>
using Buffer = std::vector<T, Aligned<T>>;

struct Linear {
    int n = 0, k = 0;       // outputs, inputs
    int k_padded = 0;       // inputs filled up to a multiple of ALIGN
    int blocks = 1;         // that lie together: 1, 2 or 4
    std::shared_ptr<std::int8_t> weight;
    Buffer<float> scale, bias;          // filled up to whole tiles
    Buffer<std::int32_t> sum;           // Σ over the inputs of each row of W, for kernels that add 128 to inputs

    Linear() = default;
    Linear(int n, int k, int blocks, Pages& pages);  // of zeros
    Linear(const float* w, const float* b, int n, int k, int blocks, Pages& pages);  // w [n, k]; b [n] or null

    // The map to some of its outputs alone.
    Linear only(const std::vector<int>& outputs) const;

    // Where the weights of an output begin, and how far apart they are.
    std::size_t place(int output) const {
        const int together = blocks * BLOCK;
        return std::size_t(output / together) * together * k_padded + output % together * 4;
    }
    std::size_t step() const { return std::size_t(blocks) * BLOCK * 4; }
    std::size_t bytes() const { return std::size_t(n + TILE - 1) / TILE * TILE * k_padded; }
};

}  // namespace prosector
