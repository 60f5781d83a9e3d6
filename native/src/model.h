// The encoder-decoder Transformer: what it is made of, and one step of it for any number of targets at once.
//
// Sources of a batch lie one behind the other, without padding. A target being written is a row; at each step its row is
// another one, and `slots` says in which row of which earlier step its keys and values lie. So rows can be copied
// (a beam's), reordered and dropped, and nothing is moved.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels.h"

namespace prosector {

struct Norm {
    bool rms = false;
    float eps = 1e-5f;
    std::vector<float> weight, bias;  // no bias: empty
    void operator()(const Kernels& kernels, const float* x, float* y, int rows) const;
};

struct Attention {
    Linear query, key_value, output;  // a self-attention's query holds all three: [q ; k ; v]
};

struct FeedForward {
    Linear inner, outer, gate;  // no gate: gate.n = 0
};

struct Layer {
    Attention self, cross;  // an encoder's has no cross
    FeedForward feed_forward;
    std::vector<Norm> norms;  // of each sublayer
};

// How positions come in; tables reach as far as texts may.
struct Positions {
    std::vector<float> added;       // [rows, d], to embeddings
    std::vector<float> cosine, sine;  // [rows, d_head / 2], of queries and keys
    bool interleaved = false;       // which features make a pair
    std::vector<float> bias;        // [H, 2 rows - 1], to scores: by key position - query position + rows - 1
    int rows = 0;
};

struct Stack {
    std::vector<Layer> layers;
    Positions positions;
    std::unique_ptr<Norm> first_norm, final_norm;
};

struct Shape {
    int d_model = 0, n_heads = 0, n_kv_heads = 0, d_head = 0, d_ff = 0;
    bool pre_norm = true;
    Activation activation = Activation::relu;
    float attention_scale = 0, embedding_scale = 1, output_scale = 1;
    int kv_width() const { return n_kv_heads * d_head; }
    int q_width() const { return n_heads * d_head; }
};

struct Model {
    Shape shape;
    Buffer<float> source_table, target_table;  // [V, d]; the second is empty where both are one
    int source_words = 0, target_words = 0;
    Stack encoder, decoder;
    Linear output;

    const float* target_row(int id) const {
        const Buffer<float>& table = target_table.empty() ? source_table : target_table;
        return table.data() + std::size_t(id) * shape.d_model;
    }
};

// Room for what one thread computes; it grows as needed and is used again.
class Work {
  public:
    explicit Work(const Kernels& kernels) : kernels(kernels) {}
    const Kernels& kernels;

    // y = activation(W x + b) + residual, x in floats.
    void linear(const Linear& w, const float* x, int rows, float* y, const float* residual = nullptr,
                Activation activation = Activation::none);

    Buffer<float> x, normed, wide, heads, hidden, gate, scores, logits;
    Buffer<Half> halves;  // keys and values of the encoder
    std::vector<const Half*> places;

  private:
    Buffer<std::uint8_t> quantised_;
    std::vector<float> scales_;
};

// What is kept of some sources while their targets are written.
struct Memory {
    std::vector<int> start, length;              // of each source among all tokens
    std::vector<Buffer<Half>> key_value;         // of each decoder layer: [tokens, 2 · kv_width]
};

Memory encode(const Model& model, Work& work, const std::vector<std::vector<int>>& sources);

// The targets being written: what every step so far left behind.
class Targets {
  public:
    Targets(const Model& model, const Memory& memory, Work& work);

    // One more token a row. `sources` says whose target a row is, `parents` which row of the step before it goes on
    // from. Returns the logits of every word, [rows, V].
    float* step(const std::vector<int>& tokens, const std::vector<int>& sources, const std::vector<int>& parents);

  private:
    void layer(const Layer& layer, int number, int rows, const std::vector<int>& sources);
    const Model& model_;
    const Memory& memory_;
    Work& work_;
    int n_steps_ = 0;
    std::vector<std::vector<Buffer<Half>>> kept_;  // [layer][step]: [rows, 2 · kv_width]
    std::vector<std::vector<int>> slots_;           // [row][step]
};

}  // namespace prosector
