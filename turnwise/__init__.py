"""Conversational RAG that still works on turn five."""
