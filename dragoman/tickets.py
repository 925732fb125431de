"""What is asked of the scheduler: a search for every segment, and a reading after it where one is wanted."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.asking import Asked
from dragoman.batching.replica import Outcome, Ticket
from dragoman.decoding.sampling import segment_seed
from dragoman.decoding.strategy import Source
from dragoman.preparing import Preparer, ToSearch
from dragoman.recall import Recall
from dragoman.types import Hypothesis, Method, SearchKind

Ids = list[int]
Tell = Callable[[Outcome], None]


class TicketMaker:
    """Makes tickets. Safe to use from several threads."""

    def __init__(
        self,
        preparer: Preparer,
        recall: Recall,
        go_on: Callable[[Sequence[Ticket]], None],
        has_shortlist: bool,  # noqa: FBT001 -- a fact that is handed on, not a mode
    ) -> None:
        """Nothing is asked for yet.

        Args:
            preparer: knows limits and what targets begin with.
            recall: remembers what was found.
            go_on: lets tickets wait, whatever else does.
            has_shortlist: whether the bundle has one.
        """
        self._preparer = preparer
        self._recall = recall
        self._go_on = go_on
        self._has_shortlist = has_shortlist

    def make(self, segment: ToSearch, asked: Asked, tell: Tell) -> tuple[Ticket, list[Hypothesis] | None]:
        """A ticket for a segment, and its hypotheses if they are remembered.

        Remembered ones are for the caller to hand to the ticket's `on_done`, which may go on to a reading.

        Args:
            segment: to be searched for.
            asked: how.
            tell: called with what is found, and read.
        """
        source = self._source(segment, asked)
        kind = asked.options.kind(self._has_shortlist)
        ticket = self._ticket(source, kind, asked, self._reading_next(source, asked, tell))
        return ticket, self._recall.find(source, kind, asked.cache_partition)

    def scoring(self, ids: Ids, given: tuple[int, ...], asked: Asked, tell: Tell) -> Ticket:
        """A ticket to read a target that nobody searched for.

        Raises:
            InputError: it is longer than the model's targets may be.
        """
        source = Source(
            ids=ids,
            begin=self._preparer.begin(asked.pair),
            limits=self._preparer.most_target_limits(asked.pair),
            length_penalty=asked.options.length_penalty,
            given=given,
        )
        return self._ticket(source, SearchKind(1, method=Method.SCORE), asked, tell)

    def _source(self, segment: ToSearch, asked: Asked) -> Source:
        options = asked.options
        prefix = () if segment.number else asked.prefix
        sampling = options.sampling
        return Source(
            ids=segment.ids,
            begin=self._preparer.begin(asked.pair),
            limits=self._preparer.target_limits(segment.ids, asked.pair, options, len(prefix)),
            length_penalty=options.length_penalty,
            num_hypotheses=options.num_hypotheses,
            early_stopping=options.early_stopping,
            prefix=prefix,
            repetition_penalty=options.repetition_penalty,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            sampling=sampling,
            may_replace=segment.has_replacement,
            seed=0 if sampling is None else segment_seed(sampling, segment.number),
        )

    def _ticket(self, source: Source, kind: SearchKind, asked: Asked, tell: Tell) -> Ticket:
        on_done = self._recall.keeping(source, kind, tell, asked.cache_partition)
        ticket = Ticket(source, kind, asked.priority, on_done, asked.flow)
        ticket.deadline_s, ticket.timeout_s = asked.deadline_s, asked.timeout_s
        asked.tickets.append(ticket)
        return ticket

    def _reading_next(self, source: Source, asked: Asked, tell: Tell) -> Tell:
        """Let the best hypothesis be read where its words or tokens are asked for; then `tell`."""
        options = asked.options
        if not (options.return_alignment or options.return_tokens):
            return tell
        kind = SearchKind(1, method=Method.SCORE if options.return_tokens else Method.ALIGN)

        def read(outcome: Outcome) -> None:
            if isinstance(outcome, Exception):
                tell(outcome)
                return
            best = outcome[0]
            given = replace(source, given=best.ids, num_hypotheses=1, sampling=None, seed=0)

            def add_reading(read: Outcome) -> None:
                if not isinstance(read, Exception):
                    read = [replace(best, reading=read[0].reading), *outcome[1:]]
                tell(read)

            found = self._recall.find(given, kind, asked.cache_partition)
            if found is not None:
                add_reading(found)
                return
            self._go_on([self._ticket(given, kind, asked, add_reading)])

        return read
