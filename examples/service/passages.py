"""Text: cut into passages, and summed up in its own sentences; a language model would do it better."""

import re
from collections import Counter

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
_WORD = re.compile(r"[^\W\d_]{4,}")


def passages(text: str) -> list[str]:
    """Paragraphs, without the signs of Markdown."""
    parts = (" ".join(part.split()).lstrip("# ").strip() for part in re.split(r"\n\s*\n", text))
    return [part for part in parts if part]


def summary(text: str, about: str = "", sentences: int = 2) -> str:
    """The sentences whose words come most often in the text, or in the question it is `about`, in their order."""
    all_of_it = [one for part in passages(text) for one in _SENTENCE.split(part) if one.endswith((".", "!", "?"))]
    often = Counter(_words(text))
    often.update({word: 40 // max(1, often[word]) for word in set(_words(about))})  # a rare word says more

    def weight(sentence: str) -> float:
        words = _words(sentence)
        return sum(often[word] - 1 for word in words) / (len(words) + 3)

    best = sorted(all_of_it, key=weight, reverse=True)[:sentences]
    return " ".join(one for one in all_of_it if one in best)


def _words(text: str) -> list[str]:
    return [word.lower().rstrip("s") for word in _WORD.findall(text)]
