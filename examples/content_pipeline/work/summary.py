"""A summary of an article: two sentences of its own, or a model's words where one is configured."""

import math
import re
from collections import Counter

from ..article import Article
from ..settings import Settings
from .language_model import ask_model

_SENTENCE = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"”]))\s+(?=[\"“A-Z0-9])")
#: Words that every text shares.
_COMMON = """
a an and are as at be been but by can do for from had has have he her his if in into is it its more no not of on one or
our out she so than that the their them then there they this to up was we were what when which who will with would you
"""
_STOP = frozenset(_COMMON.split())
_SENTENCES = 2
_ROUNDS = 30
_DAMPING = 0.85


def summarise(article: Article, settings: Settings) -> str:
    """By the model, if there is one; else by `extract`."""
    text = " ".join(article.paragraphs)
    return ask_model(article.title, text, settings) if settings.model else extract(text)


def extract(text: str) -> str:
    """The first sentence, since news begin with what happened, and the one that has most in common with all others.

    TextRank: each sentence votes for those that share its words, and the votes of a sentence that gets many count more.
    """
    sentences = [sentence.strip() for sentence in _SENTENCE.split(text) if sentence.strip()]
    if len(sentences) <= _SENTENCES:
        return " ".join(sentences)
    words = [Counter(_words(sentence)) for sentence in sentences]
    likeness = [[0.0 if i == j else _likeness(a, b) for j, b in enumerate(words)] for i, a in enumerate(words)]
    total = [sum(row) or 1.0 for row in likeness]
    rank = [1.0] * len(sentences)
    for _ in range(_ROUNDS):
        rank = [
            1 - _DAMPING + _DAMPING * sum(likeness[j][i] / total[j] * rank[j] for j in range(len(sentences)))
            for i in range(len(sentences))
        ]
    whole = [i for i in range(1, len(sentences)) if _is_whole(sentences[i])]
    second = max(whole or [1], key=lambda i: rank[i] / (i + 1))  # what matters is said early
    return f"{sentences[0]} {sentences[second]}"


def _is_whole(sentence: str) -> bool:
    return sentence.count("“") == sentence.count("”") and sentence.count('"') % 2 == 0


def _words(sentence: str) -> list[str]:
    return [word for word in re.findall(r"[a-z]+", sentence.lower()) if word not in _STOP]


def _likeness(a: Counter[str], b: Counter[str]) -> float:
    shared = len(a.keys() & b.keys())
    return shared / (math.log(len(a) + 1) + math.log(len(b) + 1)) if shared else 0.0
