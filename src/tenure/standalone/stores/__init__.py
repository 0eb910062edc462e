"""Stores of a `MessageDeduplicator`: one record for each key, written under a condition.

    MemoryStore   this process, by default
    BlobStore     a container of Azure Blob Storage: one small blob a key
    DynamoStore   a table of DynamoDB: one item a key, which the table's own TTL may remove

Each takes a bare client, sync or async. Anything else that can insert and replace under a condition will do: see
`Store`.
"""

from tenure.standalone.stores.blob import BlobStore
from tenure.standalone.stores.dynamodb import DynamoStore
from tenure.standalone.stores.memory import MemoryStore
from tenure.standalone.stores.port import Found, Store

__all__ = ["BlobStore", "DynamoStore", "Found", "MemoryStore", "Store"]
