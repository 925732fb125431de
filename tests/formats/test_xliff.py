# ruff: noqa: E501 -- markup is read more easily unbroken
"""XLIFF, read again by lxml."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from service.formats.bilingual_xml import XliffFormat
from tests.formats.rewriting import OPTIONS, anything, own, rewritten, texts
from tests.text.markup.translations import SEEDS

XLIFF = XliffFormat(OPTIONS)
V1 = "urn:oasis:names:tc:xliff:document:1.2"


def _v1(units: str) -> bytes:
    return (
        f"<?xml version='1.0' encoding='UTF-8'?>\r\n<xliff xmlns='{V1}' version=\"1.2\">"
        f'<file source-language="de" original="x&#10;y" datatype="plaintext"><body>{units}</body></file></xliff>\n'
    ).encode()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('a <g id="1">b</g>', 'a <g i="0">b</g>'),
        ('a <bpt id="1">&lt;b></bpt>b<ept id="1">&lt;/b></ept> c', 'a <g i="0">b</g> c'),
        ('a <bx id="1" rid="r"/>b <ex id="2" rid="r"/>c', 'a <g i="0">b </g>c'),
        ('a <ept id="9">x</ept>b', "a <?p 0?>b"),
        ('a <bx id="1"/>b <bx id="2"/>c <ex id="1"/>d <ex id="2"/>e', None),
        ('a <ph id="1">{0}</ph> b<x id="2" ctype="lb"/>c', 'a <x i="0"/> b<br i="1"/>c'),
        ('a <mrk mtype="protected">x</mrk> <mrk mtype="term">b</mrk> c', 'a <x i="0"/> <g i="1">b</g> c'),
        ("a <![CDATA[<b> & ]]>c", "a <b> & c"),
        ('a <x id="START_LINK"/>b<x id="CLOSE_LINK"/> c', 'a <g i="0">b</g> c'),
    ],
)  # fmt: skip
def test_inline_codes_are_handed_over_without_their_names(source: str, text: str | None) -> None:
    unit = "<trans-unit id='1'><source>•</source></trans-unit>".replace("•", source)
    content = _v1(unit)
    written = source.replace("<![CDATA[<b> & ]]>", "&lt;b&gt; &amp; ")

    assert text is None or texts(XLIFF, content) == [text]
    target = f'</source><target state="translated">{written}</target>'
    assert rewritten(XLIFF, content, own) == _v1(unit.replace("</source>", target))


_CODES = st.lists(
    st.sampled_from(
        [
            "Wort", " ", "\n", "&lt;", '<g id="1">fett</g>', '<g id="2">a<x id="3"/></g>', "<x id='4'/>",
            '<bpt id="5">{</bpt>', '<ept id="5">}</ept>', '<ph id="6">%s</ph>', "<!-- c -->", "<?pi?>",
        ]
    ),
    max_size=10,
).map("".join)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(_CODES, max_size=3), SEEDS)
def test_for_any_translation_each_code_is_there_once(sources: list[str], random: Random) -> None:
    content = _v1("".join(f"<trans-unit id='1'><source>{source}</source></trans-unit>" for source in sources))

    result = etree.fromstring(rewritten(XLIFF, content, anything(random)))

    for unit in result.iter(f"{{{V1}}}trans-unit"):
        source, target = unit.find(f"{{{V1}}}source"), unit.find(f"{{{V1}}}target")
        assert source is not None
        if target is not None:
            codes, wanted = (
                sorted(str(code.tag) for code in one.iterdescendants()) for one in (target, source)
            )
            assert codes == wanted
