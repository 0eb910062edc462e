"""The words of a question that are worth looking for."""

import re

#: So common that they only cost time. English; words of other languages are all looked for.
_COMMON = frozenset((
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
    "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my",
    "no", "not", "of", "on", "or", "our", "should", "so", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will",
    "with", "would", "you", "your",
))  # fmt: skip
_MOST = 64


def words_of(question: str) -> tuple[str, ...]:
    """The words, each once, in order; all of them where every one is common."""
    words = dict.fromkeys(word.lower() for word in re.findall(r"\w+", question))
    worth = tuple(word for word in words if word not in _COMMON)
    return (worth or tuple(words))[:_MOST]
