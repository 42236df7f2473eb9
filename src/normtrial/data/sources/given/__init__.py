"""Text that a user brings: files, or a set of the Hugging Face Hub. Both are read by `datasets.load_dataset`.

source.py    what both share: rows -> documents; files.py and hub.py say where the rows come from
cells.py     what is in a cell: text, a label, or the reason why it is neither
splits.py    which file or published split serves as which; what is missing is cut from train
classes.py   labels that training never sees, labels that are no classes, their order
formats.py   a row at a time of each file format; encoding.py finds the line that cannot be decoded
loading.py   the one call of `load_dataset`, and its errors in our words
"""
