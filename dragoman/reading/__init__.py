"""Text that a model reads in place of a text as it is written, and its ids.

grammars        what a language has in words: numbers, times of day, dates
grammar         what such a module has
numbers         numbers in words, for all grammars
abbreviations   abbreviations and units of a bundle's table
respelling      words in capitals, Swiss spelling, quotation marks
read_text       what is read, with offsets in the text
reading_file    `reading.toml`, which says what a bundle's model reads
reader          from a segment to ids: the only caller of a source's tokenizer
"""
