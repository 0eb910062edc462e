"""The routes over HTTP, in process: every route with its success and its errors, on real stores."""
