// A linear map in 8-bit integers: y = scale_w · scale_x · (W_int · x_int) + b, scales per row of W and per row of x.
//
// Weights lie in blocks of 16 outputs by 4 inputs, [N/16][K/4][16][4], the order in which every kernel reads them.
// What is missing to full blocks is zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace prosector {

constexpr int BLOCK = 16;   // outputs that lie together
constexpr int TILE = 64;    // outputs are filled up to a multiple of it
constexpr int ALIGN = 64;   // bytes; a row of inputs is filled up to a multiple of it

template <class T>
struct Aligned {  // an allocator whose memory begins at a multiple of ALIGN
    using value_type = T;
    Aligned() = default;
    template <class U>
    Aligned(const Aligned<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(ALIGN))); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(ALIGN)); }
    bool operator==(const Aligned&) const { return true; }
    bool operator!=(const Aligned&) const { return false; }
};

template <class T>
using Buffer = std::vector<T, Aligned<T>>;

struct Linear {
    int n = 0, k = 0;       // outputs, inputs
    int k_padded = 0;       // inputs filled up to a multiple of ALIGN
    Buffer<std::int8_t> weight;
    Buffer<float> scale, bias;          // filled up to whole tiles
    Buffer<std::int32_t> sum;           // Σ over the inputs of each row of W, for kernels that add 128 to inputs

    Linear() = default;
    Linear(int n, int k);  // of zeros
    Linear(const float* w, const float* b, int n, int k);  // w [n, k]; b [n] or null

    // The map to some of its outputs alone.
    Linear only(const std::vector<int>& outputs) const;

    const std::int8_t* block(int number) const { return weight.data() + std::size_t(number) * BLOCK * k_padded; }
};

}  // namespace prosector
