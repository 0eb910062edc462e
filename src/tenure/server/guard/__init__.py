"""The guard: what is refused before a route is asked.

One middleware each, in this order:

    request_log   gives the request an id, and logs how it ended
    cross_origin  lets pages of the origins that were named use watch links, and nothing else
    problems      makes a problem document of every error
    headers       adds security headers to every answer
    started       the lifespan runs: a mount may have forgotten it
    sizes         bounds the address and the headers
    host          the host that the request names is ours
    origin        what changes something comes from no other page, and is JSON
    proxy         a server without tokens is not reached through a proxy
    load          bounds how many requests are worked on at once
    body          bounds the body, and the time that it takes

Plain ASGI: each sees the scope, and may wrap `receive` and `send`. Put together by `application.py`.
"""
