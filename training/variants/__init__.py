"""Data augmentation for a robust model: modified copies of pairs, and generated lines.

    drawing    random streams, each a function of the seed and a name; reads `word_lists/`
    tokens     tokens without the punctuation around them, and tokens that both sides share
    noise      carelessly written sources
    abbreviated  sources with abbreviations, and words that look like them
    spoken     sources with numbers and times in words
    things     text that a translation copies: placeholders, addresses, code, emoji
    names      names of people, towns, streets and products
    formats    numbers, prices and times in German and English
    inserts    things inserted into both sides of a pair
    terms      sources with the required translation of terms
    formality  sources with the form of address of their translation
    copies     the copies that are made of a pair
    dates, frames, lines
               the generated corpus
    noun_phrases, nouns
               sentences with everyday nouns

`python -m training.show_variants RECIPE` shows the copies that a recipe makes of its corpora.
"""
