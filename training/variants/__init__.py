"""What makes a model robust: copies of pairs in other shapes, and lines that come from no file.

    drawing    streams of random choices, each a function of the seed and a name
    tokens     tokens without the punctuation that clings to them, and those that both sides share
    noise      sources that were written carelessly
    things     what has to be copied: placeholders, addresses, code, emoji
    formats    numbers, prices and times in German and in English
    inserts    things put into a pair, on both sides
    copies     which copies of a pair are made
    dates, lexicon, frames, lines
               the generated corpus

`python -m training.variants RECIPE` shows what a recipe makes of its corpora.
"""
