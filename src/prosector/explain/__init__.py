"""The page: a run of a model on somebody's own words, as one document, in the browser or as one file.

`translation.py` comes first: from a sentence to a document. `change.py` takes parts of the model away, `tree.py`
writes down what a beam search did. `server.py` serves the page, `page.py` writes it as a file; the sources of what a
browser runs are in `web/`.
"""
