"""Answers without a language model: sentences of the documents, chosen by a small judge and cited."""

from turnwise.extractive.answerer import ExtractiveAnswerer

__all__ = ["ExtractiveAnswerer"]
