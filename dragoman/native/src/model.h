// A model as two programs of few kinds of instructions, and what its searches keep between steps.
//
// A program is a list of instructions over registers. A register holds one vector for each row: floats, or the
// unsigned bytes that a linear layer reads. Rows are source tokens in the encoder and hypotheses in the decoder.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels.h"

namespace dragoman {

struct Instruction {
    enum Kind : int32_t {
        EMBED,           // target = embedding of the row's token and position
        NORM,            // target = layer norm `index` of source
        QUANTISE,        // target = source in units of step, around zero
        LINEAR,          // target = linear layer `index` of source
        LINEAR_ADD,      // target = the same + other
        LINEAR_QUANTISE, // target = the same after its activation, quantised
        ADD,             // target = source + other
        ACTIVATE,        // target = activation of source
        SELF_ATTENTION,  // target = attention number `index` of source, which is Q, K, V joined
        CROSS_ATTENTION, // target = attention to the row's own source; source is Q
        RECUR,           // target = output of cell `index`; source is the new value and the gate, joined
        WRITE_CROSS,     // writes source, K and V joined, as the row's position of cross K/V of layer `index`
    };
    int32_t kind, source, target, other, index;
    int32_t zero, activation;
    float step, alpha;
};

struct Norm {
    float *gain, *bias;
    float epsilon;
};

struct Program {
    std::vector<Instruction> instructions;
    std::vector<int32_t> float_widths, byte_widths; // of each register, padded
    int64_t max_depth = 0;                          // of its linear layers
    const int8_t *embedding = nullptr;              // [V][width]
    const float *embedding_step = nullptr;          // [V]
    const float *positions = nullptr;               // [num_positions][width]
    int64_t num_tokens = 0, num_positions = 0;
};

// Memory for the registers and the kernels' scratch, for as many rows as were needed so far.
class Workspace {
  public:
    void fit(const Program &program, int64_t num_rows, int64_t num_scratch_floats);
    float *floats(int32_t index) const { return floats_[index]; }
    uint8_t *bytes(int32_t index) const { return bytes_[index]; }
    int16_t *prepared() const { return prepared_; }
    float *scratch() const { return scratch_; }

  private:
    std::vector<float *> floats_;
    std::vector<uint8_t *> bytes_;
    int16_t *prepared_ = nullptr;
    float *scratch_ = nullptr;
    std::unique_ptr<char, void (*)(void *)> memory_{nullptr, nullptr};
    int64_t num_rows_ = 0, num_scratch_ = 0;
};

// Memory of weights: zeros, on huge pages where the system has them, or a file that has their bytes already.
class WeightMemory {
  public:
    struct Chunk {
        char *start;
        size_t size, used;
    };

    ~WeightMemory();
    // Maps a file, from its beginning, which `take` then goes through.
    void map(int file, size_t size);
    // Whether memory that is taken has its weights, and cannot be written.
    bool is_mapped() const { return is_mapped_; }
    template <class T> T *take(int64_t count) { return static_cast<T *>(take_bytes(count * sizeof(T))); }
    const std::vector<Chunk> &chunks() const { return chunks_; }

  private:
    void *take_bytes(size_t size);
    std::vector<Chunk> chunks_;
    bool is_mapped_ = false;
};

struct ModelSizes {
    int64_t width, heads, head_size, decoder_layers, num_cells;
    int64_t alignment_layer;
};

// Target tokens that a source can need, by source token; see `shortlist.py`. Without offsets there is none.
struct Shortlist {
    std::vector<uint64_t> always;          // a bit for each target token
    std::vector<uint32_t> offsets;         // of each source token's list, and the end
    std::vector<uint16_t> listed;          // tokens, if two bytes are enough for all
    std::vector<uint32_t> listed_in_large; // tokens of a larger vocabulary
};

struct Model {
    const Kernels *kernels = nullptr;
    ModelSizes sizes{};
    WeightMemory memory;
    std::vector<Linear> linears;
    std::vector<Norm> norms;
    Program encoder, decoder;
    std::vector<uint8_t> is_alignment_head;
    float alignment_factor = 0;
    // The output projection: rows of a table, padded, with one constant of each kind per token.
    const int8_t *output_rows = nullptr;
    int64_t output_depth = 0, num_outputs = 0;
    int32_t output_register = 0;
    float *output_scale = nullptr, *output_bias = nullptr;
    int32_t *output_correction = nullptr;
    std::vector<int32_t> suppressed;
    Shortlist shortlist;
    // Workspaces of encoder runs that have ended: one for each thread that encodes. Without a lock, which a thread
    // that did not come along could hold in a forked process.
    std::array<std::atomic<Workspace *>, 256> idle{};

    ~Model();
    int64_t layer_bytes() const { return cache_bytes(sizes.heads, sizes.head_size); }
};

// An encoded source: its cross K/V and its candidates. Shared by the rows that read it.
struct Source {
    std::atomic<int64_t> references{1};
    int64_t length = 0;
    std::vector<const int8_t *> blocks; // of each layer in turn
    std::unique_ptr<int8_t, void (*)(void *)> keys_values{nullptr, nullptr};
    // Target tokens that it can need, ascending, and constants of the output projection for them; empty if it may
    // need all.
    int64_t num_listed = 0;
    std::vector<int32_t> ids, correction, suppressed_positions;
    std::vector<float> scale, bias;
};

// Memory that is 0, aligned for the kernels.
std::unique_ptr<int8_t, void (*)(void *)> allocate_bytes(size_t size);
// Runs an instruction whose rows need nothing but their own registers.
void run_plain(const Model &model, const Program &program, const Instruction &instruction, Workspace &workspace,
               int64_t num_rows);
void embed_row(const Model &model, const Program &program, float *out, int64_t id, int64_t position);
void release(Source *source);
void encode(Model &model, const int64_t *ids, const int32_t *lengths, int64_t num_sources, Source **sources);
void add_shortlist(Model &model, const uint32_t *always, int64_t num_always, const uint32_t *offsets,
                   int64_t num_pieces, const uint32_t *listed);

// Self K/V of 16 positions of all layers. Hypotheses with the same beginning share its full blocks.
struct Block {
    int64_t references;
    Block *next; // of unused ones
    int8_t *data;
};

// Tokens on the shortlists of several sources, with copies of their rows in the output projection's table.
class JoinedLists {
  public:
    using Positions = std::shared_ptr<const std::vector<int32_t>>;
    // Adds the tokens of a source's list; returns the position of each, and 0 for its padding.
    Positions add(const Model &model, const Source &source);
    void clear();
    int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
    const int8_t *rows() const { return rows_.get(); }

  private:
    int32_t append(const Model &model, int32_t token);

    std::vector<int32_t> positions_; // of every token of the vocabulary; -1 if it is on no list
    std::vector<int32_t> tokens_;
    std::unique_ptr<int8_t, void (*)(void *)> rows_{nullptr, nullptr};
    int64_t space_ = 0;
};

struct Row {
    Source *source;
    int64_t length;
    JoinedLists::Positions positions; // of its list's tokens in the joined lists; null before they are needed
    std::vector<Block *> blocks;
    std::vector<float> cells; // [num_cells][width]
};

// Logits of one row after a step: of all tokens, or of those on the row's shortlist.
struct Logits {
    float *values;      // [count padded to LANES]; suppressed tokens are -inf already
    int64_t count;
    const int32_t *ids; // of the tokens, null if all are there
    float normaliser;   // logarithm of the sum of their exponentials, before tokens were suppressed

    int64_t id(int64_t index) const { return ids ? ids[index] : index; }
};

// The best tokens of a row, best first, of equal ones the first; then ids[0] at -inf if there are too few.
void find_best(const Kernels &kernels, const Logits &logits, int64_t num_best, float *logprobs, int64_t *ids);

// Takes the logits of each row in turn.
class LogitsReader {
  public:
    virtual ~LogitsReader() = default;
    virtual void read(int64_t row, const Logits &logits) = 0;
};

// Where a step writes its attention to the sources, the mean over the alignment's heads: for each row space for one
// number per source token, or null.
using AttentionRows = float *const *;

class Steps {
  public:
    Steps(const Model &model, int64_t beam_size, bool is_shortlisted);
    ~Steps();
    void join(Source *const *sources, int64_t num_sources);
    // Extends every row by one token. Without a reader no token is scored.
    void step(const int64_t *last_ids, LogitsReader *reader, bool scores_all, AttentionRows attention);
    void select(const int64_t *rows, int64_t num_rows);
    int64_t num_rows() const { return static_cast<int64_t>(rows_.size()); }
    int64_t source_length(int64_t row) const { return rows_[row].source->length; }
    const Model &model() const { return model_; }

  private:
    void run(const int64_t *last_ids, AttentionRows attention);
    void prepare_cache(Row &row);
    void attend_self(const Instruction &instruction);
    void attend_cross(const Instruction &instruction, AttentionRows attention);
    void score_shortlists(LogitsReader &reader);
    void join_lists();
    void score_all(LogitsReader &reader);
    Block *new_block();
    void drop(Row &row);

    const Model &model_;
    const int64_t beam_size_;
    const bool is_shortlisted_;
    std::vector<Row> rows_;
    Workspace workspace_;
    std::vector<const int8_t *> block_pointers_;
    std::vector<int32_t> products_, joined_products_;
    JoinedLists joined_lists_;
    int64_t most_joined_ = 0; // tokens; with more, most may be of sources that have left
    std::vector<std::unique_ptr<int8_t, void (*)(void *)>> block_memory_;
    std::vector<std::unique_ptr<Block>> all_blocks_;
    Block *unused_ = nullptr;
};

} // namespace dragoman
