// Greedy and beam search over sources that join and leave: what `decoding/greedy.py`, `decoding/beam.py` and
// `decoding/utf8.py` do in Python, with the same results to the last bit. Their docstrings say how and why.
#pragma once

#include <cstdint>
#include <vector>

#include "model.h"

namespace dragoman {

// What a source asks of its search; see `Source` in `decoding/strategy.py`.
struct SearchOptions {
    const int64_t *forced; // ids of the target's beginning, after the one that starts the decoder
    int64_t num_forced, num_hidden_forced, begin_id, max_tokens, min_tokens, num_hypotheses, num_considered;
    double length_penalty;
    int32_t early_stopping, can_spell_replacement, wants_attention;
};

// States of bytes inside a character, and what may follow; see `decoding/utf8.py`.
struct Utf8Tables {
    std::vector<int16_t> bytes; // value of each token, NO_BYTE if it is none; empty without byte pieces
    std::vector<uint8_t> legal, next; // [state][257]
    uint8_t may_end = 0, may_replace = 0;
    static constexpr int16_t NO_BYTE = 256;

    bool is_legal(uint8_t state, int64_t id) const { return legal[state * 257 + bytes[id]]; }
};

struct FoundHypothesis {
    double logprob, score;
    int64_t num_tokens;
    bool is_stopped;
    std::vector<int32_t> ids;
    std::vector<float> attention; // [T][S] of the steps that predicted its tokens, the end included; empty if not wanted
};

struct FoundSource {
    int64_t slot; // before any source of the step left
    bool is_faulty; // a log-probability was NaN
    std::vector<FoundHypothesis> hypotheses;
};

// A hypothesis that has ended, or was cut at the limit.
struct Ending {
    double score, logprob;
    int64_t parent, num_tokens, last_id;
};

// The search of one source. Hypotheses are known by their rank, best first; each has a row.
struct SourceSearch {
    SearchOptions options;
    std::vector<int64_t> forced;
    int64_t num_tokens = 0;
    std::vector<double> totals, best_scores;   // [k]
    std::vector<int64_t> rows_of_ranks, last_ids; // [k] by rank; [k] by row
    std::vector<uint8_t> states;               // [k] by row, of UTF-8
    std::vector<int32_t> tokens, parents;      // [position][k]
    std::vector<Ending> endings;
    std::vector<float> attention;              // [position][k by rank before its step][S]; empty if not wanted
    bool is_faulty = false;
};

class Search : private LogitsReader {
  public:
    Search(const Model &model, int64_t beam_size, bool is_shortlisted, int64_t eos_id, Utf8Tables utf8);
    void join(Source *const *sources, const SearchOptions *options, int64_t num_sources);
    // Makes a step; the sources that are done have left, and are in `found`.
    void step();
    void remove(const std::vector<char> &is_leaving);
    std::vector<int32_t> best_ids(int64_t slot) const;
    const std::vector<FoundSource> &found() const { return found_; }
    int64_t num_sources() const { return static_cast<int64_t>(searches_.size()); }

  private:
    struct Candidate {
        double total;
        int64_t id, parent;
    };

    AttentionRows attention_rows();
    void read(int64_t row, const Logits &logits) override;
    void constrain(const SourceSearch &search, uint8_t state, const Logits &logits, float *logprobs, int64_t *ids);
    bool advance(SourceSearch &search, int64_t slot);
    void advance_greedily(SourceSearch &search, int64_t slot);
    void rank(const SourceSearch &search, int64_t slot);
    void collect(SourceSearch &search);
    void extend(SourceSearch &search, int64_t slot);
    void update_state(SourceSearch &search, int64_t row);
    bool is_done(const SourceSearch &search) const;
    FoundSource results(SourceSearch &search, int64_t slot) const;
    std::vector<int32_t> ids(const SourceSearch &search, int64_t rank, int64_t num_tokens) const;
    std::vector<float> attention(const SourceSearch &search, int64_t parent, int64_t num_tokens) const;

    const int64_t beam_size_, num_best_, eos_id_;
    const Utf8Tables utf8_;
    Steps steps_;
    std::vector<SourceSearch> searches_; // by slot
    std::vector<FoundSource> found_;
    // Of the step that is being made:
    std::vector<int64_t> last_ids_, candidate_ids_, rows_; // [R], [R][K], [R]
    std::vector<float> candidate_logprobs_;                // [R][K]
    std::vector<float *> attention_rows_;                  // [R]
    std::vector<Candidate> candidates_;
    std::vector<float> wide_logprobs_;
    std::vector<int64_t> wide_ids_;
};

} // namespace dragoman
