"""OpenAPI: the routes as a document for programs, and as a page for people. Made of the one table of routes.

document.py        the OpenAPI 3.1 document
schemas.py         the JSON Schemas of the structs that routes take and answer
field_comments.py  what the fields of a struct mean, from its source
problems.py        which problems each route may answer
growth.py          what a newer document has taken away: the API only grows
page.py            the reference page, one HTML file without scripts
routes.py          GET /openapi.json and GET /docs
"""
