#include "search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace dragoman {

namespace {

constexpr double IMPOSSIBLE = -std::numeric_limits<double>::infinity();
constexpr int64_t CANDIDATES_INSIDE = 64; // of a character, where at most as many bytes may follow
constexpr uint8_t BETWEEN = 0;            // state between two characters

// A row for each child, so that as few as possible change: the first child of a parent keeps the parent's.
std::vector<int64_t> inherited(const std::vector<int64_t> &parents) {
    const size_t size = parents.size();
    std::vector<char> is_parent(size, 0), has_child(size, 0);
    for (int64_t parent : parents) is_parent[parent] = 1;
    std::vector<int64_t> rows(size);
    size_t free = 0;
    for (size_t child = 0; child < size; child++) {
        if (!has_child[parents[child]]) {
            has_child[parents[child]] = 1;
            rows[child] = parents[child];
            continue;
        }
        while (is_parent[free]) free++;
        rows[child] = static_cast<int64_t>(free++);
    }
    return rows;
}

// The old slot of each new one: gaps are filled with sources from the end.
std::vector<int64_t> close_gaps(const std::vector<char> &is_leaving) {
    const int64_t num_staying = std::count(is_leaving.begin(), is_leaving.end(), 0);
    std::vector<int64_t> slots(num_staying);
    int64_t last = num_staying;
    for (int64_t slot = 0; slot < num_staying; slot++) {
        slots[slot] = slot;
        if (!is_leaving[slot]) continue;
        while (is_leaving[last]) last++;
        slots[slot] = last++;
    }
    return slots;
}

} // namespace

Search::Search(const Model &model, int64_t beam_size, bool is_shortlisted, int64_t eos_id, Utf8Tables utf8)
    : beam_size_(beam_size), num_best_(std::min(beam_size == 1 ? 2 : beam_size + 1, model.num_outputs)),
      eos_id_(eos_id), utf8_(std::move(utf8)), steps_(model, beam_size, is_shortlisted) {}

void Search::join(Source *const *sources, const SearchOptions *options, int64_t num_sources) {
    for (int64_t i = 0; i < num_sources; i++)
        for (int64_t j = 0; j < options[i].num_forced; j++)
            if (options[i].forced[j] < 0 || options[i].forced[j] >= steps_.model().num_outputs)
                throw std::out_of_range("an id is outside the vocabulary");
    steps_.join(sources, num_sources);
    for (int64_t i = 0; i < num_sources; i++) {
        SourceSearch search;
        search.options = options[i];
        search.forced.assign(options[i].forced, options[i].forced + options[i].num_forced);
        search.totals.assign(beam_size_, IMPOSSIBLE);
        search.totals[0] = 0.0; // at first all hypotheses are the same empty one
        search.best_scores.assign(beam_size_, IMPOSSIBLE);
        for (int64_t row = 0; row < beam_size_; row++) search.rows_of_ranks.push_back(row);
        search.last_ids.assign(beam_size_, options[i].begin_id);
        search.states.assign(beam_size_, BETWEEN);
        searches_.push_back(std::move(search));
    }
}

void Search::step() {
    found_.clear();
    const int64_t num_rows = steps_.num_rows();
    last_ids_.clear();
    for (SourceSearch &search : searches_) {
        search.is_faulty = false;
        last_ids_.insert(last_ids_.end(), search.last_ids.begin(), search.last_ids.end());
    }
    candidate_ids_.resize(num_rows * num_best_);
    candidate_logprobs_.resize(num_rows * num_best_);
    steps_.step(last_ids_.data(), this, false, attention_rows());
    rows_.resize(num_rows);
    std::vector<char> is_leaving(searches_.size(), 0);
    bool any_leaves = false;
    for (int64_t slot = 0; slot < num_sources(); slot++) {
        SourceSearch &search = searches_[slot];
        if (search.is_faulty) {
            found_.push_back({slot, true, {}});
            is_leaving[slot] = 1;
        } else if (advance(search, slot)) {
            found_.push_back(results(search, slot));
            is_leaving[slot] = 1;
        }
        any_leaves |= is_leaving[slot];
    }
    if (beam_size_ > 1) {
        bool has_moved = false;
        for (int64_t row = 0; row < num_rows; row++) has_moved |= rows_[row] != row;
        if (has_moved) steps_.select(rows_.data(), num_rows);
    }
    if (any_leaves) remove(is_leaving);
}

// Makes space for the attention of a step, by each hypothesis's rank before it, as in `parents`.
AttentionRows Search::attention_rows() {
    attention_rows_.assign(steps_.num_rows(), nullptr);
    for (int64_t slot = 0; slot < num_sources(); slot++) {
        SourceSearch &search = searches_[slot];
        if (!search.options.wants_attention) continue;
        const int64_t length = steps_.source_length(slot * beam_size_);
        search.attention.resize((search.num_tokens + 1) * beam_size_ * length);
        for (int64_t rank = 0; rank < beam_size_; rank++)
            attention_rows_[slot * beam_size_ + search.rows_of_ranks[rank]] =
                search.attention.data() + (search.num_tokens * beam_size_ + rank) * length;
    }
    return attention_rows_.data();
}

void Search::remove(const std::vector<char> &is_leaving) {
    const std::vector<int64_t> slots = close_gaps(is_leaving);
    std::vector<int64_t> rows;
    std::vector<SourceSearch> kept;
    for (int64_t slot : slots) {
        for (int64_t beam = 0; beam < beam_size_; beam++) rows.push_back(slot * beam_size_ + beam);
        kept.push_back(std::move(searches_[slot]));
    }
    searches_.swap(kept);
    steps_.select(rows.data(), static_cast<int64_t>(rows.size()));
}

std::vector<int32_t> Search::best_ids(int64_t slot) const {
    const SourceSearch &search = searches_[slot];
    return ids(search, 0, search.num_tokens);
}

void Search::read(int64_t row, const Logits &logits) {
    SourceSearch &search = searches_[row / beam_size_];
    float *logprobs = candidate_logprobs_.data() + row * num_best_;
    int64_t *ids = candidate_ids_.data() + row * num_best_;
    find_best(*steps_.model().kernels, logits, num_best_, logprobs, ids);
    for (int64_t i = 0; i < num_best_; i++) search.is_faulty |= std::isnan(logprobs[i]);
    if (utf8_.bytes.empty()) return;
    const uint8_t state = search.states[row % beam_size_];
    bool is_legal = true;
    for (int64_t i = 0; i < num_best_; i++) is_legal &= utf8_.is_legal(state, ids[i]);
    if (!is_legal || state != BETWEEN) constrain(search, state, logits, logprobs, ids);
}

// Replaces a row's candidates by the best that may follow; then come those that may not, at -inf.
void Search::constrain(const SourceSearch &search, uint8_t state, const Logits &logits, float *logprobs,
                       int64_t *ids) {
    const int64_t num_outputs = steps_.model().num_outputs;
    int64_t count = search.options.num_considered;
    if (state != BETWEEN) count = std::max(count, std::min(CANDIDATES_INSIDE, num_outputs));
    wide_logprobs_.resize(count);
    wide_ids_.resize(count);
    find_best(*steps_.model().kernels, logits, count, wide_logprobs_.data(), wide_ids_.data());
    bool is_stuck = true;
    for (int64_t i = 0; i < count; i++)
        if (utf8_.is_legal(state, wide_ids_[i]) && wide_logprobs_[i] > -std::numeric_limits<float>::infinity() &&
            wide_ids_[i] != eos_id_)
            is_stuck = false;
    int64_t filled = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < count && filled < num_best_; i++) {
            const bool may_follow = (is_stuck || utf8_.is_legal(state, wide_ids_[i])) &&
                                    wide_logprobs_[i] > -std::numeric_limits<float>::infinity();
            if (may_follow != (pass == 0)) continue;
            logprobs[filled] = may_follow ? wide_logprobs_[i] : -std::numeric_limits<float>::infinity();
            ids[filled++] = wide_ids_[i];
        }
}

// Extends a source's hypotheses; returns whether it is done.
bool Search::advance(SourceSearch &search, int64_t slot) {
    if (beam_size_ == 1) {
        advance_greedily(search, slot);
    } else {
        rank(search, slot);
        search.num_tokens++;
        collect(search);
        extend(search, slot);
    }
    return is_done(search);
}

void Search::advance_greedily(SourceSearch &search, int64_t slot) {
    const float *logprobs = candidate_logprobs_.data() + slot * num_best_;
    const int64_t *ids = candidate_ids_.data() + slot * num_best_;
    const bool is_early = ids[0] == eos_id_ && search.num_tokens < search.options.min_tokens;
    int64_t id = ids[is_early ? num_best_ - 1 : 0];
    float logprob = logprobs[is_early ? num_best_ - 1 : 0];
    if (search.num_tokens < search.options.num_forced) {
        id = search.forced[search.num_tokens];
        logprob = 0.0f;
    }
    search.last_ids[0] = id;
    search.totals[0] += logprob;
    search.tokens.push_back(static_cast<int32_t>(id));
    search.parents.push_back(0);
    search.num_tokens++;
    rows_[slot] = slot;
    update_state(search, 0);
}

// The 2 k best candidates of a source: at least k do not end, as only one of each row may.
void Search::rank(const SourceSearch &search, int64_t slot) {
    candidates_.clear();
    const bool is_early = search.num_tokens < search.options.min_tokens;
    const bool is_forced = search.num_tokens < search.options.num_forced;
    for (int64_t parent = 0; parent < beam_size_; parent++) {
        const int64_t row = slot * beam_size_ + search.rows_of_ranks[parent];
        for (int64_t i = 0; i < num_best_; i++) {
            int64_t id = candidate_ids_[row * num_best_ + i];
            double total = search.totals[parent] + static_cast<double>(candidate_logprobs_[row * num_best_ + i]);
            if (is_early && id == eos_id_) total = IMPOSSIBLE;
            if (is_forced) {
                id = search.forced[search.num_tokens];
                total = parent || i ? IMPOSSIBLE : 0.0;
            }
            candidates_.push_back({total, id, parent});
        }
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate &a, const Candidate &b) { return a.total > b.total; });
    if (static_cast<int64_t>(candidates_.size()) > 2 * beam_size_) candidates_.resize(2 * beam_size_);
}

// Collects finished hypotheses among the first k candidates: ends, and all at the source's limit.
void Search::collect(SourceSearch &search) {
    const bool is_last = search.num_tokens >= search.options.max_tokens;
    const int64_t count = std::min<int64_t>(beam_size_, candidates_.size());
    for (int64_t rank = 0; rank < count; rank++) {
        const Candidate &candidate = candidates_[rank];
        if (candidate.id != eos_id_ && !is_last) continue;
        const double score =
            candidate.total / std::pow(static_cast<double>(search.num_tokens), search.options.length_penalty);
        const auto worst = std::min_element(search.best_scores.begin(), search.best_scores.end());
        if (!(score > *worst)) continue;
        *worst = score;
        search.endings.push_back({score, candidate.total, candidate.parent, search.num_tokens, candidate.id});
        const double least = *std::min_element(search.best_scores.begin(), search.best_scores.end());
        if (search.options.early_stopping && least > IMPOSSIBLE) search.options.max_tokens = search.num_tokens;
    }
}

// Keeps the k best candidates that do not end, and assigns a row to each.
void Search::extend(SourceSearch &search, int64_t slot) {
    std::stable_partition(candidates_.begin(), candidates_.end(),
                          [this](const Candidate &candidate) { return candidate.id != eos_id_; });
    // All rows of a source read the same at first, so each may stay in place.
    const bool is_alike = search.num_tokens <= 1 + search.options.num_forced;
    std::vector<int64_t> parent_rows(beam_size_);
    for (int64_t rank = 0; rank < beam_size_; rank++)
        parent_rows[rank] = search.rows_of_ranks[is_alike ? rank : candidates_[rank].parent];
    search.rows_of_ranks = inherited(parent_rows);
    std::vector<uint8_t> states(beam_size_);
    for (int64_t rank = 0; rank < beam_size_; rank++) {
        const Candidate &candidate = candidates_[rank];
        const int64_t row = search.rows_of_ranks[rank];
        search.totals[rank] = candidate.total;
        search.tokens.push_back(static_cast<int32_t>(candidate.id));
        search.parents.push_back(static_cast<int32_t>(candidate.parent));
        search.last_ids[row] = candidate.id;
        rows_[slot * beam_size_ + row] = slot * beam_size_ + parent_rows[rank];
        states[row] = search.states[parent_rows[rank]];
    }
    search.states.swap(states);
    for (int64_t row = 0; row < beam_size_; row++) update_state(search, row);
}

void Search::update_state(SourceSearch &search, int64_t row) {
    if (utf8_.bytes.empty()) return;
    uint8_t &state = search.states[row];
    state = utf8_.next[state * 257 + utf8_.bytes[search.last_ids[row]]];
    if (state == utf8_.may_end && search.options.can_spell_replacement) state = utf8_.may_replace;
}

bool Search::is_done(const SourceSearch &search) const {
    if (search.num_tokens >= search.options.max_tokens) return true;
    if (beam_size_ == 1) return search.last_ids[0] == eos_id_;
    if (search.endings.empty()) return false;
    const auto [least, most] = std::minmax_element(search.best_scores.begin(), search.best_scores.end());
    const double attainable =
        search.totals[0] / std::pow(static_cast<double>(search.num_tokens), search.options.length_penalty);
    return attainable <= *least && *most > IMPOSSIBLE;
}

FoundSource Search::results(SourceSearch &search, int64_t slot) const {
    FoundSource found{slot, false, {}};
    if (beam_size_ == 1) {
        const bool is_stopped = search.last_ids[0] == eos_id_;
        const double logprob = search.totals[0];
        const double norm = std::pow(static_cast<double>(search.num_tokens), search.options.length_penalty);
        found.hypotheses.push_back({logprob, logprob / norm, search.num_tokens, is_stopped,
                                    ids(search, 0, search.num_tokens - (is_stopped ? 1 : 0)),
                                    attention(search, 0, search.num_tokens)});
        return found;
    }
    std::stable_sort(search.endings.begin(), search.endings.end(),
                     [](const Ending &a, const Ending &b) { return a.score > b.score; });
    for (const Ending &ending : search.endings) {
        if (static_cast<int64_t>(found.hypotheses.size()) == search.options.num_hypotheses) break;
        const bool is_stopped = ending.last_id == eos_id_;
        found.hypotheses.push_back({ending.logprob, ending.score, ending.num_tokens, is_stopped,
                                    ids(search, ending.parent, ending.num_tokens - 1),
                                    attention(search, ending.parent, ending.num_tokens)});
        if (!is_stopped) found.hypotheses.back().ids.push_back(static_cast<int32_t>(ending.last_id));
    }
    if (found.hypotheses.empty()) // the model cannot satisfy the source's limits
        found.hypotheses.push_back(
            {IMPOSSIBLE, IMPOSSIBLE, search.num_tokens, false, ids(search, 0, search.num_tokens),
             attention(search, search.parents[(search.num_tokens - 1) * beam_size_], search.num_tokens)});
    return found;
}

std::vector<int32_t> Search::ids(const SourceSearch &search, int64_t rank, int64_t num_tokens) const {
    std::vector<int32_t> result;
    for (int64_t position = num_tokens - 1; position >= search.options.num_hidden_forced; position--) {
        result.push_back(search.tokens[position * beam_size_ + rank]);
        rank = search.parents[position * beam_size_ + rank];
    }
    std::reverse(result.begin(), result.end());
    return result;
}

// The attention of the steps that predicted a hypothesis's tokens; `parent` is its rank before the last one.
std::vector<float> Search::attention(const SourceSearch &search, int64_t parent, int64_t num_tokens) const {
    std::vector<float> result;
    if (!search.options.wants_attention) return result;
    const int64_t first = search.options.num_hidden_forced;
    const int64_t length = static_cast<int64_t>(search.attention.size()) / (search.num_tokens * beam_size_);
    result.resize((num_tokens - first) * length);
    for (int64_t position = num_tokens - 1, rank = parent; position >= first; position--) {
        std::copy_n(search.attention.begin() + (position * beam_size_ + rank) * length, length,
                    result.begin() + (position - first) * length);
        if (position) rank = search.parents[(position - 1) * beam_size_ + rank];
    }
    return result;
}

} // namespace dragoman
