"""Endpoints for models: the HTTP client for anything that speaks OpenAI's API, and a model of scripted answers."""
