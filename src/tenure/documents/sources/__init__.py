"""Sources: where the files of documents are. A message carries a name, never the file.

    file:///srv/documents             a folder
    blob://account/documents          a container of Azure Blob Storage
    s3://bucket/documents             a bucket of S3, or a prefix in it

`source.py` is the port, `names.py` says which names are allowed.
"""
