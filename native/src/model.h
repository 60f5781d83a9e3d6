// The encoder-decoder Transformer: what it is made of, and one step of it for any number of targets at once.
//
// Sources of a batch lie one behind the other, without padding. Targets of a step may be of any lengths.
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

// Keys and values of the tokens of all targets, of every decoder layer, at places that are given out and taken back.
class Kept {
  public:
    explicit Kept(const Model& model) : width_(2 * model.shape.kv_width()), n_layers_(model.decoder.layers.size()) {}
    int take();
    void give_back(const std::vector<int>& places) { free_.insert(free_.end(), places.begin(), places.end()); }
    Half* at(std::size_t layer, int place) {
        return reinterpret_cast<Half*>(chunks_[place / CHUNK].get()) + (layer * CHUNK + place % CHUNK) * width_;
    }

  private:
    static constexpr int CHUNK = 60;  // places that are made at once; no power of two, as the cache would not like it
    std::size_t width_, n_layers_;
    Pages pages_{PAGE};
    std::vector<std::shared_ptr<std::int8_t>> chunks_;  // [n_layers, CHUNK, 2 · kv_width] of Half
    std::vector<int> free_;
};

// Room for what one thread computes; it grows as needed and is used again.
class Work {
  public:
    Work(const Kernels& kernels, const Model& model) : kernels(kernels), kept(model) {}
    const Kernels& kernels;
    Kept kept;

    // y = activation(W x + b) + residual, x in floats.
    void linear(const Linear& w, const float* x, int rows, float* y, const float* residual = nullptr,
                Activation activation = Activation::none);

    Buffer<float> x, normed, wide, heads, hidden, gate, scores, logits;
    Buffer<Half> halves;  // keys and values of the encoder, as a memory has them
    std::vector<Buffer<Half>> spare;  // of memories that are no longer needed
    std::vector<const Half*> places;  // of what is attended to

  private:
    Buffer<std::uint8_t> quantised_;
    std::vector<float> scales_;
};

// What is kept of a source while its targets are written.
struct Memory {
    int length = 0;
    Buffer<Half> key_value;  // [decoder layers, kv heads, 2, length, d_head]
};

std::vector<Memory> encode(const Model& model, Work& work, const std::vector<const std::vector<int>*>& sources);

// A target being written: its last token, its source, and where the keys and values of all its tokens lie, the last one's
// too. So targets can be copied (a beam's), reordered and dropped, and nothing is moved.
struct Row {
    int token = 0;
    const Memory* source = nullptr;
    std::vector<int> places;
};

// One more token of each row: what the decoder makes of it, [rows, d], before it is mapped to words.
const float* step(const Model& model, Work& work, const std::vector<const Row*>& rows);

}  // namespace prosector
