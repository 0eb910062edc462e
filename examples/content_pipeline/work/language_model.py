"""Asks a language model for a summary, over the chat API that OpenAI, Azure, vLLM, Ollama and others speak."""

import json
import urllib.error
import urllib.request

from tenure import Retry

from ..settings import Settings

_TIMEOUT_SECONDS = 60.0
_ASK = "Summarise this news article in two plain sentences. Say nothing that the article does not say."


def ask_model(title: str, text: str, settings: Settings) -> str:
    """The model's summary. Raises `Retry` while it is busy or away; any other refusal is an error of this attempt."""
    body = {
        "model": settings.model,
        "messages": [{"role": "system", "content": _ASK}, {"role": "user", "content": f"{title}\n\n{text}"}],
    }
    request = urllib.request.Request(  # noqa: S310 - the address is the operator's
        f"{settings.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {settings.api_key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - likewise
            said = json.load(answer)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 429 or error.code >= 500:  # noqa: PLR2004 - HTTP's own numbers
            wait = error.headers.get("Retry-After", "")
            raise Retry(
                after=float(wait) if wait.isdigit() else None, reason=f"the model: HTTP {error.code}"
            ) from error
        raise
    except OSError as error:
        raise Retry(reason=f"the model cannot be reached: {error}") from error
    return " ".join(str(said["choices"][0]["message"]["content"]).split())
