"""Reading: from the bytes of a document to its parts, by the kind that its content and its name say.

PDF, DOCX and HTML are read in a process of their own with a limit on memory and time (`sandbox.py`), because a file can
be made so that reading it takes everything. Text and Markdown are read here: that takes time in proportion to their
size.
"""
