"""`tenure.standalone`: the decisions alone, then every name on real services, sync and async."""
