"""Attacks on everything that is read, made from seeds: whatever comes in is refused in one line, or can then be used.

    python -m pytest tests/hostile                        # a few hundred of each, as CI does
    python -m pytest tests/hostile --long                 # ten thousand of each, and a table
    python -m pytest tests/hostile --long --cases 1000    # a thousand of each
    python -m tests.hostile.worker pictures 417           # one case again, with its traceback

`damage.py` makes hostile texts, values and bytes; each corpus (`captions.py`, `pictures.py`, …) makes the input of a
number and gives it to the readers; `worker.py` runs cases in a process of its own, in which code from data, the network
and paths outside the case's folder are noticed; `campaign.py` watches that process for hangs and crashes, and counts.
"""
