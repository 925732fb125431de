"""Which bundles a text goes through."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError, UnsupportedPair
from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.routing.routes import PIVOTS, Offer, Route, RouteKind, Routes
from dragoman.types import Pair
from tests.engine.routing.doubles import languages, offer

CODES = ["cs", "de", "en", "fr"]

codes = st.sampled_from(CODES)
some_languages = st.builds(
    languages, st.sets(codes, min_size=1, max_size=3), st.sets(codes, min_size=1, max_size=3)
)


@st.composite
def some_offers(draw: st.DrawFn) -> list[Offer]:
    served = draw(st.lists(some_languages, min_size=1, max_size=5))
    return [Offer(f"model-{number}", "same", each) for number, each in enumerate(served)]


def single(offers: Sequence[Offer], source: str, target: str) -> list[Offer]:
    """Offers that serve a pair by themselves, by the plainest definition."""
    return [each for each in offers if Pair(source, target) in set(each.languages.pairs())]


def pivots(offers: Sequence[Offer], source: str, target: str) -> list[str]:
    """Languages through which two offers serve a pair, by the plainest definition."""
    if source == target:
        return []
    return [
        code
        for code in CODES
        if code not in {source, target} and single(offers, source, code) and single(offers, code, target)
    ]


def find_route(
    offers: Sequence[Offer],
    source: str | None,
    target: str | None,
    *,
    model: str | None = None,
    pivots: Sequence[str] = PIVOTS,
) -> Route:
    return Routes(offers, pivots).find(source, target, model)


def named(route: Route) -> list[str]:
    return [step.offer.name for step in route.steps]


@given(offers=some_offers(), source=codes, target=codes)
def test_a_route_exists_exactly_where_one_bundle_or_two_serve_the_pair(
    offers: list[Offer], source: str, target: str
) -> None:
    """Direct goes before multilingual, and that before a pivot, whose steps are direct likewise."""
    serving = single(offers, source, target)
    if not serving and not pivots(offers, source, target):
        with pytest.raises(UnsupportedPair):
            find_route(offers, source, target)
        return
    route = find_route(offers, source, target)
    assert route.pair == (source, target)
    assert len(route.steps) <= 2
    for step in route.steps:
        assert step.pair in set(step.offer.languages.pairs())
    for one, other in zip(route.steps, route.steps[1:], strict=False):
        assert one.pair.target == other.pair.source
    assert (route.way is RouteKind.PIVOT) == (not serving)
    is_any_direct = any(each.languages.is_single_pair for each in serving)
    assert (route.way is RouteKind.DIRECT) == is_any_direct
    for step in route.steps:
        serving = single(offers, *step.pair)
        assert step.offer.languages.is_single_pair == any(each.languages.is_single_pair for each in serving)


@given(offers=some_offers(), source=codes, target=codes, preferred=st.permutations(CODES))
def test_the_most_wanted_pivot_that_works_is_taken(
    offers: list[Offer], source: str, target: str, preferred: list[str]
) -> None:
    working = pivots(offers, source, target)
    if single(offers, source, target) or not working:
        return

    route = find_route(offers, source, target, pivots=preferred)

    assert route.steps[0].pair.target == next(code for code in preferred if code in working)


@given(offers=some_offers(), target=st.none() | codes)
def test_the_sources_of_a_target_are_those_with_a_route_to_it(
    offers: list[Offer], target: str | None
) -> None:
    routes = Routes(offers)
    if target is not None and target not in routes.targets():
        with pytest.raises(UnsupportedPair, match="target"):
            routes.sources_of(target)
        return

    found = list(routes.sources_of(target))

    reaching = [source for source in routes.sources() if target in dict(routes.all_from(source))]
    assert found == (routes.sources() if target is None else reaching)


@given(offers=some_offers(), source=codes, target=codes, data=st.data())
def test_the_order_of_the_offers_does_not_matter(
    offers: list[Offer], source: str, target: str, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(offers))

    def found(among: Sequence[Offer]) -> object:
        try:
            return named(find_route(among, source, target, pivots=()))
        except UnsupportedPair as error:
            return str(error)

    assert found(shuffled) == found(offers)


@given(offers=some_offers(), source=st.none() | codes, target=st.none() | codes)
def test_a_language_may_be_left_open_where_only_one_pair_is_possible(
    offers: list[Offer], source: str | None, target: str | None
) -> None:
    routes = Routes(offers)
    answers = set()
    for each_source in CODES if source is None else [source]:
        for each_target in CODES if target is None else [target]:
            try:
                answers.add(routes.find(each_source, each_target).pair)
            except UnsupportedPair:
                continue

    if len(answers) == 1:
        assert routes.find(source, target).pair == answers.pop()
    else:
        with pytest.raises(UnsupportedPair):
            routes.find(source, target)


@given(offers=some_offers())
def test_reached_targets_are_those_with_a_route(offers: list[Offer]) -> None:
    routes = Routes(offers)
    expected = {}
    for source in CODES:
        for target in CODES:
            try:
                expected[Pair(source, target)] = named(routes.find(source, target))
            except UnsupportedPair:
                continue

    listed = {
        Pair(source, target): named(route)
        for source in routes.sources()
        for target, route in routes.all_from(source)
    }

    assert listed == expected


def offers_of(text: str) -> list[Offer]:
    """Offers that are named by their languages, as in `de,fr>en cs>pt-BR`."""
    return [offer(each, *each.replace(",", " ").split(">")) for each in text.split()]


@pytest.mark.parametrize(
    ("offers", "pair", "expected"),
    [
        ("de>cs cs>fr de>en en>fr", "de>fr", "de>en en>fr"),  # the default pivot is English
        ("de>cs,es cs>fr de>it it>fr", "de>fr", "de>it it>fr"),  # else of fewest multilingual bundles,
        ("de>it de>pl de>cs it>fr pl>fr cs>fr", "de>fr", "de>cs cs>fr"),  # then the first by its code
        ("de>en-GB en>fr en-GB>fr", "de>fr", "de>en-GB en-GB>fr"),  # it is entered as it was left,
        ("de>en en-US>fr", "de>fr", "de>en en-US>fr"),  # though bundles that spell it otherwise still meet
        ("en>pt en>pt-BR", "en>pt-BR", "en>pt-BR"),  # the very language goes before the one it belongs to
        ("en>pt en>pt-BR", "en>pt", "en>pt"),
        ("en>pt en>pt-BR", "en>pt-PT", "en>pt"),
    ],
)
def test_the_route_that_is_taken(offers: str, pair: str, expected: str) -> None:
    route = find_route(offers_of(offers), *pair.split(">"))

    assert named(route) == expected.split()
    assert [">".join(step.pair) for step in route.steps] == expected.split()


def test_a_language_goes_by_the_names_that_its_bundle_gives_it() -> None:
    known = Languages(
        {"de": SourceLanguage(("deu_Latn",), (), (3,)), "fr": SourceLanguage((), (), (3,))},
        {"en": TargetLanguage(("eng_Latn",), (), (2,))},
    )

    assert find_route([Offer("a", "a", known)], "deu_latn", "eng-Latn").pair == ("de", "en")


def test_a_bundle_requested_by_name_is_not_combined_with_others() -> None:
    offers = offers_of("de>en de,fr>en,cs cs>pl")

    assert named(find_route(offers, "de", "en", model="de,fr>en,cs")) == ["de,fr>en,cs"]
    assert find_route(offers, None, None, model="de>en").pair == ("de", "en")
    with pytest.raises(UnsupportedPair, match=r"^source: this language is not served; served: de -> en$"):
        find_route(offers, "fr", "en", model="de>en")
    with pytest.raises(UnsupportedPair):
        find_route(offers, "de", "pl", model="cs>pl")


def test_the_way_back_is_no_translation() -> None:
    with pytest.raises(UnsupportedPair):
        find_route(offers_of("pt>en en>pt-BR"), "pt", "pt-BR")


@pytest.mark.parametrize(
    ("source", "target", "hint"),
    [
        ("fr", "en", "; `dragoman import fr-en` lists models to add"),
        ("de", "gsw", "; `dragoman import de-gsw` lists models to add"),
        ("de", "de", ""),
        (None, "fr", ""),
        ("`x`", "en", ""),
        ("fr;", "en", ""),
    ],
)
def test_the_error_names_the_command_that_lists_models_of_an_unserved_pair(
    source: str | None, target: str, hint: str
) -> None:
    with pytest.raises(UnsupportedPair) as error:
        find_route(offers_of("de>en"), source, target)
    assert str(error.value).endswith(f"served: de -> en{hint}")


def test_a_title_is_a_name_where_only_one_has_it() -> None:
    offers = [offer("a", "de", "en", "news"), offer("b", "de", "en", "law"), offer("c", "de", "en", "law")]

    assert named(find_route(offers, "de", "en", model="news")) == ["a"]
    with pytest.raises(InputError, match=r"^model: several models have this name; choose one: b, c$"):
        find_route(offers, "de", "en", model="law")
    with pytest.raises(InputError, match=r"^model: no such model; available are: a, b, c$"):
        find_route(offers, "de", "en", model="medicine")


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("fr", "en", "source: this language is not served"),
        ("de", "de", "target: this language is not served"),
        ("de", "fr", "target: no model translates from the source into this language"),
        (None, "de", "target: this language is not served"),
        (None, None, "source: choose a language"),
    ],
)
def test_the_error_names_the_served_pairs_and_the_unserved_language(
    source: str | None, target: str | None, message: str
) -> None:
    with pytest.raises(UnsupportedPair, match=f"^{message}; served: cs -> fr, de -> en($|; `dragoman)"):
        find_route(offers_of("de>en cs>fr"), source, target)


def test_thousands_of_pairs_are_not_listed() -> None:
    many = " ".join(f"x{number:03}" for number in range(200))
    offers = [offer(f"model-{number}", f"a{number} b", f"c{number}") for number in range(50)]
    offers.append(offer("a", many, many))

    with pytest.raises(UnsupportedPair, match="200 languages -> 200 languages") as caught:
        find_route(offers, "de", "x001")

    assert str(caught.value).count("->") == 12
    assert str(caught.value).endswith(" and 39 more")


@pytest.mark.parametrize("field", ["source", "target", "model"])
def test_a_name_over_the_length_limit_is_rejected(field: str) -> None:
    requested: dict[str, str | None] = {"source": "de", "target": "en", "model": None}
    requested[field] = "en-" + "x" * 300

    with pytest.raises(InputError, match=rf"^{field}: 303 characters"):
        find_route(
            [offer("a", "de", "en")], requested["source"], requested["target"], model=requested["model"]
        )


def test_a_variant_of_a_language_reaches_what_the_language_does() -> None:
    reached = Routes(offers_of("en>fr en-US>de")).all_from("en-US")

    assert {target: named(route) for target, route in reached} == {"de": ["en-US>de"], "fr": ["en>fr"]}
