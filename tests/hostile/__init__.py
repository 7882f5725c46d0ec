"""Inputs made to do harm."""
