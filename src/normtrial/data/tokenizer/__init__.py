"""From text to token ids: vocabularies of several kinds, each trained on the training split only.

`catalogue.make(tokenizer, vocab_size, texts)` returns a `vocabulary.Vocabulary`. To add a kind: one function
`(texts, size) -> Tokenizer` and one line in `catalogue.KINDS`; a test trains each in several processes, since a
prepared text must be the same on two machines. The `tokenizers` library is imported inside functions: a second
start reads prepared arrays and needs none.
"""
